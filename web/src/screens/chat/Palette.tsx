import { Modal } from '@mantine/core';
import type { Tool } from '~/api/tools';
import { useMessages } from '~/i18n';
import { PaletteSearch } from './PaletteSearch';

interface Props {
  opened: boolean;
  onClose: () => void;
  onSelect: (tool: Tool) => void;
  /** Handles a second `+`, which the user wants in the message. */
  onPlus: () => void;
}

/** The tool palette, which opens when the user types `+` in chat. */
export function Palette({ opened, onClose, onSelect, onPlus }: Props) {
  const messages = useMessages();
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={messages.palette.title}
      size="lg"
      centered={false}
      closeButtonProps={{ 'aria-label': messages.common.close }}
    >
      <PaletteSearch onSelect={onSelect} onPlus={onPlus} />
    </Modal>
  );
}
