import { Button, Group, NumberInput, Stack, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { type NewInvitation, useCreateInvitation } from '~/api/invitations';
import type { Role } from '~/api/members';
import { Problem } from '~/api/problem';
import { ErrorNotice } from '~/components/ErrorNotice';
import { parseItems } from '~/forms/items';
import { useMessages } from '~/i18n';
import { PatternsField } from './PatternsField';
import { RoleField } from './RoleField';

const DEFAULT_DAYS = 7;
/** The largest values that the server accepts. */
const MAX_DAYS = 30;
const MAX_NOTE_LENGTH = 200;

interface Props {
  onCreated: (created: NewInvitation) => void;
  onCancel: () => void;
}

export function InviteForm({ onCreated, onCancel }: Props) {
  const messages = useMessages();
  const texts = messages.invitations;
  const creation = useCreateInvitation();
  const [note, setNote] = useState('');
  const [role, setRole] = useState<Role>('caller');
  const [days, setDays] = useState<number | string>(DEFAULT_DAYS);
  const [patterns, setPatterns] = useState('');
  const fieldErrors = creation.error instanceof Problem ? creation.error.fields : {};
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const body = { role, note: note.trim(), days: Number(days), patterns: parseItems(patterns) };
    void creation.mutateAsync(body).then(onCreated, () => {});
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={texts.note}
          description={texts.noteHint}
          data-autofocus
          maxLength={MAX_NOTE_LENGTH}
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        <RoleField value={role} onChange={setRole} />
        <PatternsField value={patterns} onChange={setPatterns} />
        <NumberInput
          label={messages.keys.days}
          required
          min={1}
          max={MAX_DAYS}
          allowDecimal={false}
          hideControls
          error={fieldErrors.days}
          value={days}
          onChange={setDays}
        />
        {creation.error ? <ErrorNotice error={creation.error} /> : null}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            {messages.common.cancel}
          </Button>
          <Button type="submit" loading={creation.isPending}>
            {texts.create}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
