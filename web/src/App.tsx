// Which screen stands at which address; each is loaded when it is first shown.
import { lazy, Suspense } from 'react';
import { Redirect, Route, Router, Switch, useLocation } from 'wouter';
import { Login } from './screens/login/Login';
import { useLogin } from './api/login';
import { Failed, Loading } from './parts/parts';
import { Shell } from './shell/Shell';
import { Missing } from './shell/Missing';
import { Stumble } from './shell/Stumble';

const Tools = lazy(() => import('./screens/tools/Tools'));
const Maker = lazy(() => import('./screens/maker/Maker'));
const Importer = lazy(() => import('./screens/tools/Importer'));
const ToolPage = lazy(() => import('./screens/tools/ToolPage'));
const Chat = lazy(() => import('./screens/chat/Chat'));
const Playground = lazy(() => import('./screens/playground/Playground'));
const Servers = lazy(() => import('./screens/servers/Servers'));
const Stats = lazy(() => import('./screens/stats/Stats'));
const Settings = lazy(() => import('./screens/settings/Settings'));

export function App() {
  return (
    <Router>
      <Stumble>
        <Entrance />
      </Stumble>
    </Router>
  );
}

function Entrance() {
  const login = useLogin();
  if (login.error) return <Failed error={login.error} retry={() => login.refetch()} />;
  if (login.data === undefined) return <Loading />;
  return login.data ? <Screens /> : <Login />;
}

function Screens() {
  const [location] = useLocation();
  return (
    <Shell>
      <Stumble key={location.startsWith('/chat') ? '/chat' : location}>
        <Suspense fallback={<Loading />}>
          <Switch>
            <Route path="/tools" component={Tools} />
            <Route path="/tools/new" component={Maker} />
            <Route path="/tools/import" component={Importer} />
            <Route path="/tools/:bundle/:tool" component={ToolPage} />
            <Route path="/tools/:bundle/:tool/new" component={Maker} />
            <Route path="/chat" component={Chat} />
            <Route path="/chat/:session" component={Chat} />
            <Route path="/playground" component={Playground} />
            <Route path="/servers" component={Servers} />
            <Route path="/stats" component={Stats} />
            <Route path="/settings" component={Settings} />
            <Route path="/login">
              <Redirect to="/tools" replace />
            </Route>
            <Route path="/">
              <Redirect to="/tools" replace />
            </Route>
            <Route component={Missing} />
          </Switch>
        </Suspense>
      </Stumble>
    </Shell>
  );
}
