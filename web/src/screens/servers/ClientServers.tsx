import { Button, Group, Select, Stack, Switch } from '@mantine/core';
import { useState } from 'react';
import { type ImportSource, useMcpClients, usePreviewImport } from '~/api/servers';
import { ErrorNotice } from '~/components/ErrorNotice';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { ImportPlan } from './ImportPlan';

/** Adds the servers of an MCP client on this machine. */
export function ClientServers({ onAdded }: { onAdded: () => void }) {
  const messages = useMessages();
  const clients = useMcpClients();
  const preview = usePreviewImport();
  const [selected, setSelected] = useState<string | null>(null);
  const [move, setMove] = useState(false);
  const source = { client: selected } as ImportSource;
  if (preview.data) {
    return <ImportPlan source={source} plan={preview.data} move={move} onBack={preview.reset} onAdded={onAdded} />;
  }
  return (
    <QueryView query={clients}>
      {(found) =>
        found.length ? (
          <Stack>
            <Select
              label={messages.addServer.client}
              data={found.map(({ name, title }) => ({ value: name, label: title }))}
              description={found.find(({ name }) => name === selected)?.file}
              value={selected}
              onChange={setSelected}
            />
            <Switch
              label={messages.addServer.move}
              description={messages.addServer.moveHint}
              checked={move}
              onChange={(event) => setMove(event.currentTarget.checked)}
            />
            {preview.error ? <ErrorNotice error={preview.error} /> : null}
            <Group justify="flex-end">
              <Button disabled={!selected} loading={preview.isPending} onClick={() => preview.mutate(source)}>
                {messages.addServer.review}
              </Button>
            </Group>
          </Stack>
        ) : (
          <p>{messages.addServer.noClients}</p>
        )
      }
    </QueryView>
  );
}
