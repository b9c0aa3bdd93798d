import { ActionIcon, Menu } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link } from 'wouter';
import { type Member, useRemoveMember } from '~/api/members';
import { DeleteDialog } from '~/components/DeleteDialog';
import { Icon } from '~/components/Icon';
import { notify } from '~/components/notifications';
import { useMessages } from '~/i18n';
import { GrantDialog } from './GrantDialog';
import { MemberDialog } from './MemberDialog';
import { memberAccessPath } from './memberAccessPath';

interface Props {
  member: Member;
  name: string;
  isUser: boolean;
}

/** Change the role of a member, add a grant, or remove the member. */
export function MemberActions({ member, name, isUser }: Props) {
  const messages = useMessages();
  const texts = messages.members;
  const removal = useRemoveMember(member);
  const [isEditing, editor] = useDisclosure(false);
  const [isGranting, granting] = useDisclosure(false);
  const [isRemoving, dialog] = useDisclosure(false);
  const closeDialog = () => {
    dialog.close();
    removal.reset();
  };
  const handleRemoved = () => {
    dialog.close();
    notify(texts.removed(name));
  };
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={texts.actions(name)}>
            <Icon name="dots" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {member.kind !== 'group' && (
            <Menu.Item component={Link} href={memberAccessPath(member)} leftSection={<Icon name="access" size={15} />}>
              {messages.memberAccess.show}
            </Menu.Item>
          )}
          <Menu.Item onClick={editor.open} leftSection={<Icon name="edit" size={15} />}>
            {texts.edit}
          </Menu.Item>
          <Menu.Item onClick={granting.open} leftSection={<Icon name="plus" size={15} />}>
            {texts.addGrant}
          </Menu.Item>
          <Menu.Item color="red" onClick={dialog.open} leftSection={<Icon name="trash" size={15} />}>
            {texts.remove}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {isEditing && <MemberDialog member={member} onClose={editor.close} />}
      {isGranting && <GrantDialog member={member} name={name} onClose={granting.close} />}
      <DeleteDialog
        opened={isRemoving}
        title={texts.removeTitle(name)}
        text={isUser ? `${texts.removeText[member.kind]} ${texts.removeYou}` : texts.removeText[member.kind]}
        confirmLabel={texts.remove}
        isDeleting={removal.isPending}
        error={removal.error}
        onConfirm={() => void removal.mutateAsync(undefined).then(handleRemoved, () => {})}
        onClose={closeDialog}
      />
    </>
  );
}
