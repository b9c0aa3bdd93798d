import { Button, Group, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useRenameSession } from '~/api/chat';
import { ErrorNotice } from '~/components/ErrorNotice';
import { useMessages } from '~/i18n';

export function RenameForm({ id, title, onDone }: { id: string; title: string; onDone: () => void }) {
  const messages = useMessages();
  const rename = useRenameSession();
  const [name, setName] = useState(title);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    rename.mutate({ id, title: name.trim() }, { onSuccess: onDone });
  };
  return (
    <form onSubmit={submit}>
      <TextInput
        label={messages.common.name}
        value={name}
        maxLength={1000}
        required
        data-autofocus
        onChange={(event) => setName(event.currentTarget.value)}
      />
      {rename.error ? <ErrorNotice error={rename.error} /> : null}
      <Group justify="flex-end" mt="md">
        <Button type="submit" loading={rename.isPending}>
          {messages.common.save}
        </Button>
      </Group>
    </form>
  );
}
