import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link, useLocation } from 'wouter';
import { type Tool, useDeleteTool } from '~/api/tools';
import { DeleteDialog } from '~/components/DeleteDialog';
import { Icon } from '~/components/Icon';
import { notify } from '~/components/notifications';
import { useMessages } from '~/i18n';
import { toolPath } from './paths';

/** The actions for one version of a stored tool. */
export function VersionActions({ tool, isLast }: { tool: Tool; isLast: boolean }) {
  const messages = useMessages();
  const [, navigate] = useLocation();
  const deletion = useDeleteTool();
  const [isDialogOpen, dialog] = useDisclosure(false);
  const closeDialog = () => {
    dialog.close();
    deletion.reset();
  };
  const handleDeleted = () => {
    dialog.close();
    notify(messages.tools.deleted(`${tool.name} ${tool.version}`));
    if (isLast) navigate('/tools');
  };
  return (
    <>
      <Button
        component={Link}
        href={`${toolPath(tool)}/new?version=${encodeURIComponent(tool.version)}`}
        variant="default"
        leftSection={<Icon name="edit" size={15} />}
      >
        {messages.toolPage.newVersion}
      </Button>
      <Button variant="default" color="red" onClick={dialog.open} leftSection={<Icon name="trash" size={15} />}>
        {messages.toolPage.deleteVersion}
      </Button>
      <DeleteDialog
        opened={isDialogOpen}
        title={messages.toolPage.deleteVersionTitle(tool.name, tool.version)}
        text={messages.toolPage.deleteVersionText}
        isDeleting={deletion.isPending}
        error={deletion.error}
        onConfirm={() => void deletion.mutateAsync(tool).then(handleDeleted, () => {})}
        onClose={closeDialog}
      />
    </>
  );
}
