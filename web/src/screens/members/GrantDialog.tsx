import { Button, Group, Modal, Select, Stack, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { type GrantEffect, type Member, useSaveGrant } from '~/api/members';
import { ErrorNotice } from '~/components/ErrorNotice';
import { InlineMarkdown } from '~/components/InlineMarkdown';
import { useMessages } from '~/i18n';

const EFFECTS: GrantEffect[] = ['allow', 'ask', 'deny'];
/** The longest pattern that the server accepts. */
const MAX_PATTERN_LENGTH = 200;

interface Props {
  member: Member;
  name: string;
  onClose: () => void;
}

/** Adds an exception for the tools that match a pattern. */
export function GrantDialog({ member, name, onClose }: Props) {
  const messages = useMessages();
  const texts = messages.members;
  const saving = useSaveGrant();
  const [pattern, setPattern] = useState('');
  const [effect, setEffect] = useState<GrantEffect>('allow');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const body = { kind: member.kind, member: member.id, effect, pattern: pattern.trim() };
    void saving.mutateAsync(body).then(onClose, () => {});
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={texts.grantTitle(name)}
      closeButtonProps={{ 'aria-label': messages.common.close }}
    >
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label={texts.pattern}
            description={<InlineMarkdown text={texts.patternHint} />}
            required
            data-autofocus
            spellCheck={false}
            maxLength={MAX_PATTERN_LENGTH}
            value={pattern}
            onChange={(event) => setPattern(event.currentTarget.value)}
          />
          <Select
            label={texts.effect}
            allowDeselect={false}
            data={EFFECTS.map((value) => ({ value, label: messages.access.effects[value] }))}
            value={effect}
            onChange={(value) => setEffect(value as GrantEffect)}
          />
          {saving.error ? <ErrorNotice error={saving.error} /> : null}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {messages.common.cancel}
            </Button>
            <Button type="submit" loading={saving.isPending}>
              {texts.addGrant}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
