import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
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
  const [isAdding, dialog] = useDisclosure(false);
  const canEdit = query.data?.canEdit ?? false;
  return (
    <>
      <PageHeader title={messages.servers.title} lead={messages.servers.lead}>
        {canEdit && (
          <Button onClick={dialog.open} leftSection={<Icon name="plus" size={16} />}>
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
            </EmptyState>
          )
        }
      </QueryView>
      <AddServerDialog opened={isAdding} onClose={dialog.close} />
    </>
  );
}
