import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { type Member, type Role, useMembers, useSaveMember } from '~/api/members';
import { ErrorNotice } from '~/components/ErrorNotice';
import { notify } from '~/components/notifications';
import { formatItems, parseItems } from '~/forms/items';
import { useMessages } from '~/i18n';
import { PatternsField } from './PatternsField';
import { RoleField } from './RoleField';

interface Props {
  /** The member to change. Without one, a service is added. */
  member?: Member;
  onClose: () => void;
}

/** Adds a service, or changes the role and the patterns of a member. */
export function MemberDialog({ member, onClose }: Props) {
  const messages = useMessages();
  const texts = messages.members;
  const saving = useSaveMember();
  const members = useMembers().data ?? [];
  const [id, setId] = useState(member?.id ?? '');
  const [role, setRole] = useState<Role>(member?.role ?? 'caller');
  const [patterns, setPatterns] = useState(() => formatItems(member?.patterns ?? []));
  const kind = member?.kind ?? 'service';
  const name = member?.name || id.trim();
  // Saving would change the role of the service that has the name.
  const isTaken = !member && members.some((other) => other.kind === kind && other.id === name);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isTaken) return;
    const handleSaved = () => {
      notify(member ? texts.saved(name) : texts.addedNotice(name));
      onClose();
    };
    const body = { kind, id: id.trim(), role, patterns: parseItems(patterns) };
    void saving.mutateAsync(body).then(handleSaved, () => {});
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={member ? texts.editTitle(name) : texts.add}
      closeButtonProps={{ 'aria-label': messages.common.close }}
    >
      <form onSubmit={submit}>
        <Stack>
          {!member && (
            <TextInput
              label={messages.common.name}
              description={texts.nameHint}
              required
              data-autofocus
              maxLength={100}
              error={isTaken ? texts.taken : undefined}
              value={id}
              onChange={(event) => setId(event.currentTarget.value)}
            />
          )}
          <RoleField value={role} onChange={setRole} />
          <PatternsField value={patterns} onChange={setPatterns} />
          {saving.error ? <ErrorNotice error={saving.error} /> : null}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {messages.common.cancel}
            </Button>
            <Button type="submit" loading={saving.isPending}>
              {member ? messages.common.save : texts.add}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
