import { useSearch } from 'wouter';
import { useConnections } from '~/api/connections';
import { mayMake, useMe } from '~/api/members';
import { EmptyAction } from '~/components/EmptyAction';
import { EmptyState } from '~/components/EmptyState';
import { Notice } from '~/components/Notice';
import { PageHeader } from '~/components/PageHeader';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import cards from '~/screens/members/members.module.css';
import { ConnectionCard } from './ConnectionCard';
import css from './connections.module.css';

/** The servers to which the user or the workspace can log in. The query names the one that a link is about. */
export default function Connections() {
  const { connections: texts, emptyStates } = useMessages();
  const connections = useConnections();
  const isMaker = mayMake(useMe().data);
  const search = new URLSearchParams(useSearch());
  const named = search.get('server');
  const connected = connections.data?.find(
    ({ server, mine, workspace }) => server === search.get('connected') && (mine || workspace),
  );
  return (
    <>
      <PageHeader title={texts.title} lead={texts.lead} />
      {connected && (
        <div className={css.finished}>
          <Notice tone="success">{texts.finished(connected.server)}</Notice>
        </div>
      )}
      <QueryView query={connections}>
        {(all) =>
          all.length ? (
            <ul className={cards.list} aria-label={texts.title}>
              {[...all]
                .sort((one, other) => Number(other.server === named) - Number(one.server === named))
                .map((connection) => (
                  <ConnectionCard key={connection.server} connection={connection} isMaker={isMaker} />
                ))}
            </ul>
          ) : (
            <EmptyState title={texts.empty} icon="connections">
              <p>{emptyStates.connections}</p>
              <EmptyAction href="/servers" label={emptyStates.openServers} />
            </EmptyState>
          )
        }
      </QueryView>
    </>
  );
}
