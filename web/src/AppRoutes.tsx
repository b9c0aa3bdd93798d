// The pages and their paths. Each page is loaded on the first visit.
import { lazy, Suspense } from 'react';
import { Route, Switch, useLocation } from 'wouter';
import { WORKSPACE } from './api/workspace';
import { Loading } from './components/Loading';
import { ErrorBoundary } from './layout/ErrorBoundary';
import { Home } from './layout/Home';
import { Layout } from './layout/Layout';
import { NotFound } from './layout/NotFound';

const Tools = lazy(() => import('./screens/tools/Tools'));
const ToolPage = lazy(() => import('./screens/tools/ToolPage'));
const ToolEditor = lazy(() => import('./screens/tool-editor/ToolEditor'));
const SaveCode = lazy(() => import('./screens/save-code/SaveCode'));
const Importer = lazy(() => import('./screens/importer/Importer'));
const Chat = lazy(() => import('./screens/chat/Chat'));
const Playground = lazy(() => import('./screens/playground/Playground'));
const Resources = lazy(() => import('./screens/resources/Resources'));
const Servers = lazy(() => import('./screens/servers/Servers'));
const Access = lazy(() => import('./screens/access/Access'));
const Members = lazy(() => import('./screens/members/Members'));
const MemberAccess = lazy(() => import('./screens/members/MemberAccess'));
const Keys = lazy(() => import('./screens/keys/Keys'));
const Secrets = lazy(() => import('./screens/secrets/Secrets'));
const Connections = lazy(() => import('./screens/connections/Connections'));
const ConnectionCallback = lazy(() => import('./screens/connections/ConnectionCallback'));
const Audit = lazy(() => import('./screens/audit/Audit'));
const Jobs = lazy(() => import('./screens/jobs/Jobs'));
const JobPage = lazy(() => import('./screens/jobs/JobPage'));
const Activity = lazy(() => import('./screens/activity/Activity'));
const RecordPage = lazy(() => import('./screens/activity/RecordPage'));
const Stats = lazy(() => import('./screens/stats/Stats'));
const Settings = lazy(() => import('./screens/settings/Settings'));

export function AppRoutes() {
  const [location] = useLocation();
  // A new chat gets its own path while the response streams in, so all chats share one boundary.
  const boundaryKey = location.startsWith('/chat') ? '/chat' : location;
  return (
    <Layout>
      <ErrorBoundary key={boundaryKey}>
        <Suspense fallback={<Loading />}>
          <Switch>
            <Route path="/tools" component={Tools} />
            <Route path="/tools/new" component={ToolEditor} />
            <Route path="/tools/import" component={Importer} />
            <Route path="/tools/save" component={SaveCode} />
            <Route path="/tools/:bundle/:tool" component={ToolPage} />
            <Route path="/tools/:bundle/:tool/new" component={ToolEditor} />
            <Route path="/chat" component={Chat} />
            <Route path="/chat/:session" component={Chat} />
            <Route path="/playground" component={Playground} />
            <Route path="/resources" component={Resources} />
            <Route path="/servers" component={Servers} />
            <Route path="/access" component={Access} />
            <Route path="/jobs" component={Jobs} />
            <Route path="/jobs/:id" component={JobPage} />
            <Route path="/activity" component={Activity} />
            <Route path="/activity/:id" component={RecordPage} />
            <Route path="/stats" component={Stats} />
            {WORKSPACE && <Route path="/members" component={Members} />}
            {WORKSPACE && <Route path="/members/:kind/:id/access" component={MemberAccess} />}
            {WORKSPACE && <Route path="/keys" component={Keys} />}
            {WORKSPACE && <Route path="/secrets" component={Secrets} />}
            {WORKSPACE && <Route path="/connections" component={Connections} />}
            {WORKSPACE && <Route path="/connections/callback" component={ConnectionCallback} />}
            {WORKSPACE && <Route path="/audit" component={Audit} />}
            <Route path="/settings" component={Settings} />
            <Route path="/login" component={Home} />
            <Route path="/" component={Home} />
            <Route component={NotFound} />
          </Switch>
        </Suspense>
      </ErrorBoundary>
    </Layout>
  );
}
