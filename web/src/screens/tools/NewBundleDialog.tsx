import { Button, Group, Modal, Stack, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { Problem } from '~/api/problem';
import { type Bundle, useCreateBundle } from '~/api/tools';
import { ErrorNotice } from '~/components/ErrorNotice';
import { notify } from '~/components/notifications';
import { useMessages } from '~/i18n';

const EMPTY_DRAFT = { slug: '', displayName: '', description: '' };

interface Props {
  opened: boolean;
  onClose: () => void;
  onCreated: (bundle: Bundle) => void;
}

export function NewBundleDialog({ opened, onClose, onCreated }: Props) {
  const messages = useMessages();
  const creation = useCreateBundle();
  const [draft, setDraft] = useState(EMPTY_DRAFT);
  const fieldErrors = creation.error instanceof Problem ? creation.error.fields : {};
  const field = (name: keyof typeof EMPTY_DRAFT) => ({
    value: draft[name],
    error: fieldErrors[name],
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget;
      setDraft((current) => ({ ...current, [name]: value }));
    },
  });
  const handleCreated = (bundle: Bundle) => {
    notify(messages.newBundle.created(bundle.slug));
    onCreated(bundle);
    setDraft(EMPTY_DRAFT);
    onClose();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    creation.mutate({ ...draft, isEnabled: true }, { onSuccess: handleCreated });
  };
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={messages.newBundle.title}
      closeButtonProps={{ 'aria-label': messages.common.close }}
    >
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label={messages.newBundle.slug}
            description={messages.newBundle.slugHint}
            required
            data-autofocus
            {...field('slug')}
          />
          <TextInput label={messages.newBundle.displayName} {...field('displayName')} />
          <Textarea label={messages.newBundle.description} {...field('description')} />
          {creation.error && !fieldErrors.slug ? <ErrorNotice error={creation.error} /> : null}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {messages.common.cancel}
            </Button>
            <Button type="submit" loading={creation.isPending}>
              {messages.newBundle.submit}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
