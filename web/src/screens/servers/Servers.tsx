import { Button } from '@mantine/core';
import { useSearchParams } from 'wouter';
import { useServers } from '~/api/servers';
import { EmptyState } from '~/components/EmptyState';
import { Icon } from '~/components/Icon';
import { InlineMarkdown } from '~/components/InlineMarkdown';
import { PageHeader } from '~/components/PageHeader';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { AddServerDialog } from './AddServerDialog';
import { ServerCard } from './ServerCard';
import css from './servers.module.css';

export default function Servers() {
  const messages = useMessages();
  const query = useServers();
  // In the address, so that other pages can open the dialog.
  const [params, setParams] = useSearchParams();
  const setAdding = (isAdding: boolean) => setParams(isAdding ? { add: '' } : {}, { replace: true });
  const canEdit = query.data?.canEdit ?? false;
  return (
    <>
      <PageHeader title={messages.servers.title} lead={messages.servers.lead}>
        {canEdit && (
          <Button onClick={() => setAdding(true)} leftSection={<Icon name="plus" size={16} />}>
            {messages.addServer.title}
          </Button>
        )}
      </PageHeader>
      <QueryView query={query}>
        {({ servers }) =>
          servers.length ? (
            <div className={css.serverList}>
              {servers.map((server) => (
                <ServerCard key={server.name} server={server} canEdit={canEdit} />
              ))}
            </div>
          ) : (
            <EmptyState title={messages.servers.emptyTitle} icon="servers">
              <p>
                <InlineMarkdown text={canEdit ? messages.servers.emptyHint : messages.servers.emptyCliHint} />
              </p>
              {canEdit && (
                <Button variant="light" onClick={() => setAdding(true)}>
                  {messages.addServer.title}
                </Button>
              )}
            </EmptyState>
          )
        }
      </QueryView>
      <AddServerDialog opened={canEdit && params.has('add')} onClose={() => setAdding(false)} />
    </>
  );
}
