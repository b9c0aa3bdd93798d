import { Button, Group, Stack, Textarea } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { usePreviewImport } from '~/api/servers';
import { ErrorNotice } from '~/components/ErrorNotice';
import { useMessages } from '~/i18n';
import { ImportPlan } from './ImportPlan';

/** Adds servers from pasted client settings, a command line or a URL. */
export function PastedServers({ onAdded }: { onAdded: () => void }) {
  const messages = useMessages();
  const preview = usePreviewImport();
  const [text, setText] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    preview.mutate({ text });
  };
  if (preview.data) {
    return <ImportPlan source={{ text }} plan={preview.data} onBack={preview.reset} onAdded={onAdded} />;
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <Textarea
          label={messages.addServer.text}
          description={messages.addServer.textHint}
          placeholder={messages.addServer.textPlaceholder}
          autosize
          minRows={7}
          maxRows={16}
          spellCheck={false}
          data-autofocus
          styles={{ input: { fontFamily: 'var(--monospace)', fontSize: 13 } }}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        {preview.error ? <ErrorNotice error={preview.error} /> : null}
        <Group justify="flex-end">
          <Button type="submit" disabled={text.trim() === ''} loading={preview.isPending}>
            {messages.addServer.review}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
