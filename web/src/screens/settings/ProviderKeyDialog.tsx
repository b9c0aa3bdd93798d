import { Button, Group, Modal, PasswordInput, Stack } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useSaveProviderKey } from '~/api/settings';
import { ErrorNotice } from '~/components/ErrorNotice';
import { notify } from '~/components/notifications';
import { useMessages } from '~/i18n';

/** Asks for the API key of a provider. */
export function ProviderKeyDialog({ provider, onClose }: { provider: string; onClose: () => void }) {
  const messages = useMessages();
  const texts = messages.configuration;
  const saving = useSaveProviderKey();
  const [key, setKey] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const handleSaved = () => {
      notify(texts.keySaved(provider));
      onClose();
    };
    void saving.mutateAsync({ name: provider, key: key.trim() }).then(handleSaved, () => {});
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={texts.keyOf(provider)}
      closeButtonProps={{ 'aria-label': messages.common.close }}
    >
      <form onSubmit={submit} autoComplete="off">
        <Stack>
          <PasswordInput
            label={texts.keyOf(provider)}
            description={texts.keyHint}
            required
            data-autofocus
            autoComplete="new-password"
            value={key}
            onChange={(event) => setKey(event.currentTarget.value)}
          />
          {saving.error ? <ErrorNotice error={saving.error} /> : null}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {messages.common.cancel}
            </Button>
            <Button type="submit" loading={saving.isPending}>
              {messages.common.save}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
