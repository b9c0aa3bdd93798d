import { Button, Group, Input, Modal, Stack, Textarea, TextInput } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import type { Schemas } from '~/api/client';
import { type ServerSettings, useSaveServer, useServerSettings } from '~/api/servers';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Loading } from '~/components/Loading';
import { Notice } from '~/components/Notice';
import { notify } from '~/components/notifications';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { parseObject, textOf, withSetting } from './serverFields';

const CodeEditor = lazy(() => import('~/components/CodeEditor'));

interface Props {
  server: string;
  /** The name of the tool on the server. */
  tool: string;
  onClose: () => void;
}

/** Changes how models see a tool of a server: its name, texts, fixed parameters and defaults. */
export function OverrideDialog({ server, tool, onClose }: Props) {
  const messages = useMessages();
  const query = useServerSettings(server);
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={messages.overrides.title(tool)}
      closeButtonProps={{ 'aria-label': messages.common.close }}
    >
      <QueryView query={query}>
        {(stored) =>
          stored.canEdit ? (
            <OverrideForm stored={stored} tool={tool} onClose={onClose} />
          ) : (
            <Notice tone="warning">{stored.reason}</Notice>
          )
        }
      </QueryView>
    </Modal>
  );
}

interface FormProps {
  stored: Schemas['ServerSettingsResponse'];
  tool: string;
  onClose: () => void;
}

function OverrideForm({ stored, tool, onClose }: FormProps) {
  const messages = useMessages();
  const saving = useSaveServer(stored.name);
  const overrides = (stored.settings.tools ?? {}) as Record<string, ServerSettings>;
  const current = overrides[tool] ?? {};
  const [texts, setTexts] = useState<ServerSettings>(current);
  const [fixed, setFixed] = useState(() => JSON.stringify(current.fixed ?? {}, null, 2));
  const [defaults, setDefaults] = useState(() => JSON.stringify(current.defaults ?? {}, null, 2));
  const values = { fixed: parseObject(fixed), defaults: parseObject(defaults) };
  const save = () => {
    const override = withSetting(withSetting(texts, 'fixed', values.fixed), 'defaults', values.defaults);
    const settings = withSetting(stored.settings, 'tools', withSetting(overrides, tool, override));
    const handleSaved = () => {
      notify(messages.overrides.saved(tool));
      onClose();
    };
    void saving.mutateAsync({ settings, digest: stored.digest }).then(handleSaved, () => {});
  };
  const field = (key: string) => ({
    value: textOf(texts[key]),
    onChange: (event: { currentTarget: { value: string } }) =>
      setTexts(withSetting(texts, key, event.currentTarget.value)),
  });
  const editors = [
    { label: messages.overrides.fixed, hint: messages.overrides.fixedHint, value: fixed, onChange: setFixed },
    {
      label: messages.overrides.defaults,
      hint: messages.overrides.defaultsHint,
      value: defaults,
      onChange: setDefaults,
    },
  ];
  return (
    <Stack>
      <TextInput label={messages.common.name} placeholder={tool} {...field('name')} />
      <TextInput label={messages.overrides.titleField} {...field('title')} />
      <Textarea label={messages.overrides.description} autosize minRows={2} {...field('description')} />
      {editors.map(({ label, hint, value, onChange }) => (
        <div key={label}>
          <Input.Label>{label}</Input.Label>
          <Input.Description mb={6}>{hint}</Input.Description>
          <Suspense fallback={<Loading />}>
            <CodeEditor label={label} language="json" minHeight={70} value={value} onChange={onChange} />
          </Suspense>
        </div>
      ))}
      {saving.error ? <ErrorNotice error={saving.error} /> : null}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          {messages.common.cancel}
        </Button>
        <Button disabled={!values.fixed || !values.defaults} loading={saving.isPending} onClick={save}>
          {messages.common.save}
        </Button>
      </Group>
    </Stack>
  );
}
