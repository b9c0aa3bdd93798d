import { ActionIcon, Menu, Modal } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useLocation } from 'wouter';
import { useDeleteSession } from '~/api/chat';
import { DeleteDialog } from '~/components/DeleteDialog';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import { RenameForm } from './RenameForm';

export function SessionActions({ id, title, isCurrent }: { id: string; title: string; isCurrent: boolean }) {
  const messages = useMessages();
  const [, navigate] = useLocation();
  const deletion = useDeleteSession();
  const [isRenaming, renameDialog] = useDisclosure(false);
  const [isDeleting, deleteDialog] = useDisclosure(false);
  const closeDeleteDialog = () => {
    deleteDialog.close();
    deletion.reset();
  };
  const handleDeleted = () => {
    deleteDialog.close();
    if (isCurrent) navigate('/chat');
  };
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" size="sm" aria-label={messages.chat.sessionActions(title)}>
            <Icon name="dots" size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<Icon name="edit" size={15} />} onClick={renameDialog.open}>
            {messages.chat.rename}
          </Menu.Item>
          <Menu.Item color="red" leftSection={<Icon name="trash" size={15} />} onClick={deleteDialog.open}>
            {messages.common.delete}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Modal
        opened={isRenaming}
        onClose={renameDialog.close}
        title={messages.chat.renameTitle}
        closeButtonProps={{ 'aria-label': messages.common.close }}
      >
        <RenameForm id={id} title={title} onDone={renameDialog.close} />
      </Modal>
      <DeleteDialog
        opened={isDeleting}
        title={messages.chat.deleteTitle(title)}
        text={messages.chat.deleteText}
        isDeleting={deletion.isPending}
        error={deletion.error}
        onConfirm={() => void deletion.mutateAsync(id).then(handleDeleted, () => {})}
        onClose={closeDeleteDialog}
      />
    </>
  );
}
