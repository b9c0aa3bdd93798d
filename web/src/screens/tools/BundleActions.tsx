import { ActionIcon, Menu } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link } from 'wouter';
import { type Bundle, useDeleteBundle } from '~/api/tools';
import { apiUrl } from '~/api/workspace';
import { DeleteDialog } from '~/components/DeleteDialog';
import { Icon } from '~/components/Icon';
import { notify } from '~/components/notifications';
import { useMessages } from '~/i18n';

export function BundleActions({ bundle, name }: { bundle: Bundle; name: string }) {
  const messages = useMessages();
  const deletion = useDeleteBundle();
  const [isDialogOpen, dialog] = useDisclosure(false);
  const closeDialog = () => {
    dialog.close();
    deletion.reset();
  };
  const handleDeleted = () => {
    dialog.close();
    notify(messages.tools.deleted(name));
  };
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={messages.tools.bundleActions(name)}>
            <Icon name="dots" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            component={Link}
            href={`/tools/new?bundle=${bundle.id}`}
            leftSection={<Icon name="plus" size={15} />}
          >
            {messages.tools.addTool}
          </Menu.Item>
          <Menu.Item
            component="a"
            href={apiUrl(`/tools/bundles/${bundle.id}/export`)}
            download={`${bundle.slug}.zip`}
            leftSection={<Icon name="down" size={15} />}
          >
            {messages.tools.exportBundle}
          </Menu.Item>
          <Menu.Item color="red" onClick={dialog.open} leftSection={<Icon name="trash" size={15} />}>
            {messages.tools.deleteBundle}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <DeleteDialog
        opened={isDialogOpen}
        title={messages.tools.deleteBundleTitle(name)}
        text={messages.tools.deleteBundleText}
        isDeleting={deletion.isPending}
        error={deletion.error}
        onConfirm={() => void deletion.mutateAsync(bundle.id).then(handleDeleted, () => {})}
        onClose={closeDialog}
      />
    </>
  );
}
