import { AppRoutes } from './AppRoutes';
import { useLoginStatus } from './api/login';
import { isUnreachable } from './api/problem';
import { ErrorNotice } from './components/ErrorNotice';
import { Loading } from './components/Loading';
import { Login } from './screens/login/Login';

/** Shows the login page until the user is logged in. */
export function AuthGate() {
  const login = useLoginStatus();
  // What is shown stays, with all that was typed, if a later request fails.
  if (login.data !== undefined) return login.data ? <AppRoutes /> : <Login />;
  if (login.error && !isUnreachable(login.error)) {
    return <ErrorNotice error={login.error} onRetry={() => login.refetch()} />;
  }
  return <Loading />;
}
