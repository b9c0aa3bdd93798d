// A bundle by name: everything else about it can wait.
import { Button, Group, Modal, Stack, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { Problem } from '~/api/problem';
import { type Bundle, usePutBundle } from '~/api/tools';
import { useWords } from '~/i18n';
import { tell } from '~/parts/notify';
import { Failed } from '~/parts/parts';

const BLANK = { slug: '', displayName: '', description: '' };

interface Props {
  opened: boolean;
  onClose: () => void;
  onCreated: (bundle: Bundle) => void;
}

export function NewBundle({ opened, onClose, onCreated }: Props) {
  const words = useWords();
  const putting = usePutBundle();
  const [draft, setDraft] = useState(BLANK);
  const fields = putting.error instanceof Problem ? putting.error.fields : {};
  const set = (key: keyof typeof BLANK) => (event: { currentTarget: { value: string } }) => {
    const { value } = event.currentTarget;
    setDraft((before) => ({ ...before, [key]: value }));
  };
  const created = (bundle: Bundle) => {
    tell(words.bundle.created(bundle.slug));
    onCreated(bundle);
    setDraft(BLANK);
    onClose();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    putting.mutate({ body: { ...draft, isEnabled: true } }, { onSuccess: created });
  };
  return (
    <Modal opened={opened} onClose={onClose} title={words.bundle.title} closeButtonProps={{ 'aria-label': words.common.close }}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput label={words.bundle.slug} description={words.bundle.slugHint} value={draft.slug} onChange={set('slug')} error={fields.slug} required data-autofocus />
          <TextInput label={words.bundle.displayName} value={draft.displayName} onChange={set('displayName')} error={fields.displayName} />
          <Textarea label={words.bundle.description} value={draft.description} onChange={set('description')} error={fields.description} />
          {putting.error && !fields.slug ? <Failed error={putting.error} /> : null}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {words.common.cancel}
            </Button>
            <Button type="submit" loading={putting.isPending}>
              {words.bundle.create}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
