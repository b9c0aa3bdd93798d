import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type ApiKey, useRevokeKey } from '~/api/keys';
import { DeleteDialog } from '~/components/DeleteDialog';
import { notify } from '~/components/notifications';
import { useMessages } from '~/i18n';

/** Revokes a key after a confirmation. */
export function RevokeKey({ apiKey }: { apiKey: ApiKey }) {
  const messages = useMessages();
  const texts = messages.keys;
  const revocation = useRevokeKey(apiKey.id);
  const [isOpen, dialog] = useDisclosure(false);
  const closeDialog = () => {
    dialog.close();
    revocation.reset();
  };
  const handleRevoked = () => {
    dialog.close();
    notify(texts.revokedNotice(apiKey.name));
  };
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        aria-label={texts.revokeLabel(apiKey.name, apiKey.prefix)}
        onClick={dialog.open}
      >
        {texts.revoke}
      </Button>
      <DeleteDialog
        opened={isOpen}
        title={texts.revokeTitle(apiKey.name)}
        text={texts.revokeText(apiKey.owner)}
        confirmLabel={texts.revoke}
        isDeleting={revocation.isPending}
        error={revocation.error}
        onConfirm={() => void revocation.mutateAsync(undefined).then(handleRevoked, () => {})}
        onClose={closeDialog}
      />
    </>
  );
}
