import { ActionIcon } from '@mantine/core';
import { useRef } from 'react';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';

/** Chooses files to send with a message. */
export function AttachButton({ onFiles }: { onFiles: (files: FileList) => void }) {
  const { chatFiles: texts } = useMessages();
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <ActionIcon variant="default" size="lg" aria-label={texts.attach} onClick={() => input.current?.click()}>
        <Icon name="upload" />
      </ActionIcon>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          if (currentTarget.files) onFiles(currentTarget.files);
          currentTarget.value = ''; // the same file can be chosen again
        }}
      />
    </>
  );
}
