import { ActionIcon } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type Secret, useDeleteSecret } from '~/api/secrets';
import { WORKSPACE } from '~/api/workspace';
import { DeleteDialog } from '~/components/DeleteDialog';
import { Icon } from '~/components/Icon';
import { notify } from '~/components/notifications';
import { useMessages } from '~/i18n';

/** Deletes a secret after a confirmation. */
export function DeleteSecret({ secret }: { secret: Secret }) {
  const messages = useMessages();
  const texts = messages.secrets;
  const deletion = useDeleteSecret(secret);
  const [isOpen, dialog] = useDisclosure(false);
  const closeDialog = () => {
    dialog.close();
    deletion.reset();
  };
  const handleDeleted = () => {
    dialog.close();
    notify(texts.deleted(secret.name));
  };
  return (
    <>
      <ActionIcon variant="subtle" color="gray" aria-label={texts.deleteLabel(secret.name)} onClick={dialog.open}>
        <Icon name="trash" size={16} />
      </ActionIcon>
      <DeleteDialog
        opened={isOpen}
        title={texts.deleteTitle(secret.name)}
        text={WORKSPACE ? texts.deleteText[secret.of] : messages.configuration.deleteSecretText}
        isDeleting={deletion.isPending}
        error={deletion.error}
        onConfirm={() => void deletion.mutateAsync(undefined).then(handleDeleted, () => {})}
        onClose={closeDialog}
      />
    </>
  );
}
