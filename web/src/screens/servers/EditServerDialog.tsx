import { Button, Group, Modal, Tabs } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import type { Schemas } from '~/api/client';
import { useSaveServer, useServerSettings } from '~/api/servers';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Loading } from '~/components/Loading';
import { Notice } from '~/components/Notice';
import { notify } from '~/components/notifications';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { ServerForm } from './ServerForm';
import { parseObject } from './serverFields';
import css from './servers.module.css';

const CodeEditor = lazy(() => import('~/components/CodeEditor'));

interface Props {
  name: string;
  onClose: () => void;
}

export function EditServerDialog({ name, onClose }: Props) {
  const messages = useMessages();
  const query = useServerSettings(name);
  return (
    <Modal
      opened
      onClose={onClose}
      size="xl"
      title={messages.editServer.title(name)}
      closeButtonProps={{ 'aria-label': messages.common.close }}
    >
      <QueryView query={query}>
        {(stored) =>
          stored.canEdit ? (
            <Editor stored={stored} onClose={onClose} />
          ) : (
            <Notice tone="warning">{stored.reason}</Notice>
          )
        }
      </QueryView>
    </Modal>
  );
}

/** Edits the settings as fields or as JSON. */
function Editor({ stored, onClose }: { stored: Schemas['ServerSettingsResponse']; onClose: () => void }) {
  const messages = useMessages();
  const saving = useSaveServer(stored.name);
  const [text, setText] = useState(() => JSON.stringify(stored.settings, null, 2));
  const settings = parseObject(text);
  const save = () => {
    if (!settings) return;
    const handleSaved = () => {
      notify(messages.editServer.saved(stored.name));
      onClose();
    };
    void saving.mutateAsync({ settings, digest: stored.digest }).then(handleSaved, () => {});
  };
  return (
    <>
      <Tabs defaultValue="form" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="form">{messages.editServer.formTab}</Tabs.Tab>
          <Tabs.Tab value="json">{messages.editServer.jsonTab}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="form">
          {settings ? (
            <ServerForm settings={settings} onChange={(changed) => setText(JSON.stringify(changed, null, 2))} />
          ) : (
            <Notice tone="danger">{messages.errors.jsonObject}</Notice>
          )}
        </Tabs.Panel>
        <Tabs.Panel value="json">
          <Suspense fallback={<Loading />}>
            <CodeEditor label={messages.editServer.jsonTab} language="json" value={text} onChange={setText} />
          </Suspense>
        </Tabs.Panel>
      </Tabs>
      <p className={css.muted}>{messages.editServer.file(stored.file)}</p>
      {saving.error ? <ErrorNotice error={saving.error} /> : null}
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onClose}>
          {messages.common.cancel}
        </Button>
        <Button disabled={!settings} loading={saving.isPending} onClick={save}>
          {messages.common.save}
        </Button>
      </Group>
    </>
  );
}
