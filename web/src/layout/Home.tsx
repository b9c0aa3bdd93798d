import { Redirect } from 'wouter';
import { useMe } from '~/api/members';
import { WORKSPACE } from '~/api/workspace';
import { Loading } from '~/components/Loading';
import { homePath } from './pages';

/** Leads to the first page that the user may see. */
export function Home() {
  const me = useMe();
  if (WORKSPACE && me.isPending) return <Loading />;
  return <Redirect to={homePath(me.data)} replace />;
}
