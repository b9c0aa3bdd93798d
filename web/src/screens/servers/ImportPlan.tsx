import { Button, Group, Stack } from '@mantine/core';
import type { Schemas } from '~/api/client';
import { type ImportSource, type PlannedServer, useImportServers } from '~/api/servers';
import { CodeBlock } from '~/components/CodeBlock';
import { ErrorNotice } from '~/components/ErrorNotice';
import { notify } from '~/components/notifications';
import { Tag } from '~/components/Tag';
import { useMessages } from '~/i18n';
import css from './servers.module.css';

interface Props {
  source: ImportSource;
  plan: Schemas['ImportPreview'];
  /** Replaces the servers with OneTool in the settings of the client. */
  move?: boolean;
  onBack: () => void;
  onAdded: () => void;
}

/** What an import would write, and the button that confirms it. */
export function ImportPlan({ source, plan, move = false, onBack, onAdded }: Props) {
  const messages = useMessages();
  const imported = useImportServers();
  const count = plan.servers.filter(({ status }) => status === 'new').length;
  const handleAdded = ({ names, note }: Schemas['ImportedServers']) => {
    notify([messages.addServer.added(names.join(', ')), note].filter(Boolean).join(' '));
    onAdded();
  };
  const body = { ...source, names: {}, digest: plan.digest, move };
  const confirm = () => void imported.mutateAsync(body).then(handleAdded, () => {});
  return (
    <Stack>
      {plan.servers.map((server) => (
        <PlannedServerView key={server.sourceName} server={server} />
      ))}
      {imported.error ? <ErrorNotice error={imported.error} /> : null}
      <Group justify="flex-end">
        <Button variant="default" onClick={onBack}>
          {messages.addServer.back}
        </Button>
        <Button disabled={count === 0 && !move} loading={imported.isPending} onClick={confirm}>
          {messages.addServer.add(count)}
        </Button>
      </Group>
    </Stack>
  );
}

function PlannedServerView({ server }: { server: PlannedServer }) {
  const messages = useMessages();
  const name = server.name || server.sourceName;
  return (
    <article className={css.quarantinedTool} aria-label={name}>
      <div className={css.header}>
        <h3>{name}</h3>
        <Tag tone={server.status === 'new' ? 'success' : server.status === 'unsupported' ? 'danger' : 'neutral'}>
          {messages.addServer.status[server.status]}
        </Tag>
      </div>
      {server.problem && <p className={css.problem}>{server.problem}.</p>}
      {server.status === 'new' && (
        <>
          <CodeBlock label={messages.addServer.settingsOf(name)}>{JSON.stringify(server.settings, null, 2)}</CodeBlock>
          <ul className={css.notes}>
            {server.secrets.map((secret) => (
              <li key={secret}>{messages.addServer.secret(secret)}</li>
            ))}
            {server.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </>
      )}
    </article>
  );
}
