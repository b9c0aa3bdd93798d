import { Modal } from '@mantine/core';
import { useState } from 'react';
import type { NewApiKey } from '~/api/keys';
import { useMessages } from '~/i18n';
import { KeyForm } from './KeyForm';
import { NewKey } from './NewKey';

interface Props {
  /** Whether the user may create keys for services. */
  isOwner: boolean;
  onClose: () => void;
}

/** Creates a key and shows it once. */
export function NewKeyDialog({ isOwner, onClose }: Props) {
  const messages = useMessages();
  const [created, setCreated] = useState<NewApiKey | null>(null);
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      // The key cannot be shown again, so a click or key press by accident must not hide it.
      closeOnClickOutside={!created}
      closeOnEscape={!created}
      title={created ? messages.keys.newTitle(created.name) : messages.keys.create}
      closeButtonProps={{ 'aria-label': messages.common.close }}
    >
      {created ? (
        <NewKey created={created} onClose={onClose} />
      ) : (
        <KeyForm isOwner={isOwner} onCreated={setCreated} onCancel={onClose} />
      )}
    </Modal>
  );
}
