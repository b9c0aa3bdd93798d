import { Button, Group, Modal, Text } from '@mantine/core';
import { useMessages } from '~/i18n';
import { ErrorNotice } from './ErrorNotice';

interface Props {
  opened: boolean;
  title: string;
  text: string;
  /** Default: Delete. */
  confirmLabel?: string;
  isDeleting: boolean;
  error: unknown;
  onConfirm: () => void;
  onClose: () => void;
}

/** A confirmation dialog for deletions. */
export function DeleteDialog(props: Props) {
  const { opened, title, text, confirmLabel, isDeleting, error, onConfirm, onClose } = props;
  const messages = useMessages();
  return (
    <Modal opened={opened} onClose={onClose} title={title} closeButtonProps={{ 'aria-label': messages.common.close }}>
      <Text mb="md">{text}</Text>
      {error ? <ErrorNotice error={error} /> : null}
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onClose} data-autofocus>
          {messages.common.cancel}
        </Button>
        <Button color="red" loading={isDeleting} onClick={onConfirm}>
          {confirmLabel ?? messages.common.delete}
        </Button>
      </Group>
    </Modal>
  );
}
