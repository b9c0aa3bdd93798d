import { type ClipboardEvent, type DragEvent, useState } from 'react';
import { notify } from '~/components/notifications';
import { useMessages } from '~/i18n';
import { type ChatFile, MAX_FILE_BYTES, MAX_FILES, readChatFile, selectFiles } from './chatFiles';

/** The files of the message that is being written, and the handlers that attach pasted and dropped ones. */
export function useChatFiles() {
  const { chatFiles: texts } = useMessages();
  const [files, setFiles] = useState<ChatFile[]>([]);
  const add = async (list: FileList | File[]) => {
    const { accepted, rejected } = selectFiles(files.length, [...list]);
    for (const { name } of rejected) notify(texts.rejected(name, MAX_FILES, MAX_FILE_BYTES / 1e6));
    const read = await Promise.all(accepted.map(readChatFile)).catch(() => []);
    setFiles((current) => [...current, ...read].slice(0, MAX_FILES));
  };
  return {
    files,
    setFiles,
    add,
    remove: (id: number) => setFiles((current) => current.filter((file) => file.id !== id)),
    handlePaste: (event: ClipboardEvent) => {
      const pasted = [...event.clipboardData.files];
      if (pasted.length === 0) return;
      event.preventDefault();
      void add(pasted);
    },
    dropHandlers: {
      onDragOver: (event: DragEvent) => event.dataTransfer.types.includes('Files') && event.preventDefault(),
      onDrop: (event: DragEvent) => {
        if (event.dataTransfer.files.length === 0) return;
        event.preventDefault();
        void add(event.dataTransfer.files);
      },
    },
  };
}
