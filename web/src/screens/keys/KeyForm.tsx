import { Button, Group, NumberInput, Select, Stack, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { type NewApiKey, useCreateKey } from '~/api/keys';
import { useMembers } from '~/api/members';
import { Problem } from '~/api/problem';
import { ErrorNotice } from '~/components/ErrorNotice';
import { parseItems } from '~/forms/items';
import { useMessages } from '~/i18n';
import { PatternsField } from '~/screens/members/PatternsField';

const DEFAULT_DAYS = 90;
/** The longest lifetime that the server accepts. */
const MAX_DAYS = 3650;

interface Props {
  isOwner: boolean;
  onCreated: (created: NewApiKey) => void;
  onCancel: () => void;
}

export function KeyForm({ isOwner, onCreated, onCancel }: Props) {
  const messages = useMessages();
  const texts = messages.keys;
  const creation = useCreateKey();
  const members = useMembers(isOwner).data ?? [];
  const services = members.filter(({ kind }) => kind === 'service').map(({ id }) => id);
  const [name, setName] = useState('');
  const [days, setDays] = useState<number | string>(DEFAULT_DAYS);
  const [patterns, setPatterns] = useState('');
  const [service, setService] = useState<string | null>(null);
  const fieldErrors = creation.error instanceof Problem ? creation.error.fields : {};
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const body = { name: name.trim(), days: Number(days), patterns: parseItems(patterns), service };
    void creation.mutateAsync(body).then(onCreated, () => {});
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={messages.common.name}
          description={texts.nameHint}
          required
          data-autofocus
          error={fieldErrors.name}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <NumberInput
          label={texts.days}
          required
          min={1}
          max={MAX_DAYS}
          allowDecimal={false}
          hideControls
          error={fieldErrors.days}
          value={days}
          onChange={setDays}
        />
        {isOwner && (
          <Select
            label={texts.actsFor}
            description={texts.actsForHint}
            placeholder={texts.yourself}
            clearable
            clearButtonProps={{ 'aria-label': messages.common.clear }}
            data={services}
            value={service}
            onChange={setService}
          />
        )}
        <PatternsField value={patterns} onChange={setPatterns} />
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
