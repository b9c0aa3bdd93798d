import { useServers } from '~/api/servers';
import { EmptyState } from '~/components/EmptyState';
import { InlineMarkdown } from '~/components/InlineMarkdown';
import { PageHeader } from '~/components/PageHeader';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { ServerCard } from './ServerCard';
import css from './servers.module.css';

export default function Servers() {
  const messages = useMessages();
  const query = useServers();
  return (
    <>
      <PageHeader title={messages.servers.title} lead={messages.servers.lead} />
      <QueryView query={query}>
        {(servers) =>
          servers.length ? (
            <div className={css.serverList}>
              {servers.map((server) => (
                <ServerCard key={server.name} server={server} />
              ))}
            </div>
          ) : (
            <EmptyState title={messages.servers.emptyTitle} icon="servers">
              <p>
                <InlineMarkdown text={messages.servers.emptyHint} />
              </p>
            </EmptyState>
          )
        }
      </QueryView>
    </>
  );
}
