import { AppRoutes } from './AppRoutes';
import { useLoginStatus } from './api/login';
import { ErrorNotice } from './components/ErrorNotice';
import { Loading } from './components/Loading';
import { Login } from './screens/login/Login';

/** Shows the login page until the user is logged in. */
export function AuthGate() {
  const login = useLoginStatus();
  if (login.error) return <ErrorNotice error={login.error} onRetry={() => login.refetch()} />;
  if (login.data === undefined) return <Loading />;
  return login.data ? <AppRoutes /> : <Login />;
}
