import { ActionIcon, Menu } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type Server, useRemoveServer, useSwitchServer } from '~/api/servers';
import { DeleteDialog } from '~/components/DeleteDialog';
import { Icon } from '~/components/Icon';
import { notify, notifyError } from '~/components/notifications';
import { useMessages } from '~/i18n';
import { EditServerDialog } from './EditServerDialog';

/** Edit, enable, disable or remove a server. */
export function ServerActions({ server }: { server: Server }) {
  const messages = useMessages();
  const toggle = useSwitchServer(server.name);
  const removal = useRemoveServer(server.name);
  const [isEditing, editor] = useDisclosure(false);
  const [isRemoving, dialog] = useDisclosure(false);
  const isDisabled = server.state === 'disabled';
  const closeDialog = () => {
    dialog.close();
    removal.reset();
  };
  const handleRemoved = () => {
    dialog.close();
    notify(messages.servers.removed(server.name));
  };
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={messages.servers.actions(server.name)}>
            <Icon name="dots" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={editor.open} leftSection={<Icon name="edit" size={15} />}>
            {messages.servers.edit}
          </Menu.Item>
          <Menu.Item
            onClick={() => toggle.mutate(isDisabled, { onError: notifyError })}
            leftSection={<Icon name={isDisabled ? 'play' : 'stop'} size={15} />}
          >
            {isDisabled ? messages.servers.enable : messages.servers.disable}
          </Menu.Item>
          <Menu.Item color="red" onClick={dialog.open} leftSection={<Icon name="trash" size={15} />}>
            {messages.servers.remove}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {isEditing && <EditServerDialog name={server.name} onClose={editor.close} />}
      <DeleteDialog
        opened={isRemoving}
        title={messages.servers.removeTitle(server.name)}
        text={messages.servers.removeText}
        isDeleting={removal.isPending}
        error={removal.error}
        onConfirm={() => void removal.mutateAsync(undefined).then(handleRemoved, () => {})}
        onClose={closeDialog}
      />
    </>
  );
}
