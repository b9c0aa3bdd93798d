// A question before something is lost.
import { Button, Group, Modal, Text } from '@mantine/core';
import { useWords } from '~/i18n';
import { Failed } from './parts';

interface Props {
  opened: boolean;
  title: string;
  text: string;
  busy?: boolean;
  error?: unknown;
  onConfirm: () => void;
  onClose: () => void;
}

export function Confirm({ opened, title, text, busy, error, onConfirm, onClose }: Props) {
  const words = useWords();
  return (
    <Modal opened={opened} onClose={onClose} title={title} closeButtonProps={{ 'aria-label': words.common.close }}>
      <Text mb="md">{text}</Text>
      {error ? <Failed error={error} /> : null}
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onClose} data-autofocus>
          {words.common.cancel}
        </Button>
        <Button color="red" loading={busy} onClick={onConfirm}>
          {words.common.delete}
        </Button>
      </Group>
    </Modal>
  );
}
