import { lazy, Suspense } from 'react';
import { Route, Router, Switch } from 'wouter';
import { AuthGate } from './AuthGate';
import { WORKSPACE } from './api/workspace';
import { Loading } from './components/Loading';
import { ErrorBoundary } from './layout/ErrorBoundary';
import { ServerBanner } from './layout/ServerBanner';
import { JOIN_PATH } from './screens/join/secret';

const Join = lazy(() => import('./screens/join/Join'));

export function App() {
  return (
    <Router base={WORKSPACE}>
      <ServerBanner />
      <ErrorBoundary>
        <Suspense fallback={<Loading />}>
          <Switch>
            {/* For people who are not members yet. */}
            {WORKSPACE && <Route path={JOIN_PATH} component={Join} />}
            <Route component={AuthGate} />
          </Switch>
        </Suspense>
      </ErrorBoundary>
    </Router>
  );
}
