import { Modal } from '@mantine/core';
import { useState } from 'react';
import type { NewInvitation } from '~/api/invitations';
import { useMessages } from '~/i18n';
import { InviteForm } from './InviteForm';
import { NewInvitationLink } from './NewInvitationLink';

/** Invites a person, and shows the link once. */
export function InviteDialog({ onClose }: { onClose: () => void }) {
  const messages = useMessages();
  const [created, setCreated] = useState<NewInvitation | null>(null);
  return (
    <Modal
      opened
      onClose={onClose}
      // The link cannot be shown again, so a click or key press by accident must not hide it.
      closeOnClickOutside={!created}
      closeOnEscape={!created}
      title={messages.invitations.invite}
      closeButtonProps={{ 'aria-label': messages.common.close }}
    >
      {created ? (
        <NewInvitationLink created={created} onClose={onClose} />
      ) : (
        <InviteForm onCreated={setCreated} onCancel={onClose} />
      )}
    </Modal>
  );
}
