import { Modal } from '@mantine/core';
import { useState } from 'react';
import { useMessages } from '~/i18n';
import { CommandSearch } from './CommandSearch';

/** The dialog that finds pages, tools and actions by keyboard. */
export default function CommandPalette({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { commands, common } = useMessages();
  const [hasNavigated, setNavigated] = useState(false);
  const finish = (isOtherPage: boolean) => {
    setNavigated(isOtherPage);
    onClose();
    // The reader continues at the start of the page that was opened.
    if (isOtherPage) document.getElementById('content')?.focus();
  };
  return (
    <Modal
      opened={opened}
      onClose={() => finish(false)}
      onEnterTransitionEnd={() => setNavigated(false)}
      returnFocus={!hasNavigated}
      title={commands.title}
      // An animation would delay the focus, and what is typed at once would be lost.
      transitionProps={{ duration: 0 }}
      size="lg"
      centered={false}
      closeButtonProps={{ 'aria-label': common.close }}
    >
      <CommandSearch onDone={finish} />
    </Modal>
  );
}
