import { Button } from '@mantine/core';
import { type ChangeEvent, type DragEvent, useRef, useState } from 'react';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import css from './importer.module.css';

export function FileDropZone({ onFile }: { onFile: (file: File) => void }) {
  const messages = useMessages();
  const input = useRef<HTMLInputElement>(null);
  const [isDragging, setDragging] = useState(false);
  const select = (file: File | undefined) => file && onFile(file);
  const handleDrop = (event: DragEvent) => {
    event.preventDefault();
    setDragging(false);
    select(event.dataTransfer.files[0]);
  };
  const handleDragOver = (event: DragEvent) => {
    event.preventDefault();
    setDragging(true);
  };
  const handleChange = (event: ChangeEvent<HTMLInputElement>) => {
    select(event.currentTarget.files?.[0]);
    event.currentTarget.value = ''; // allows selecting the same file again
  };
  return (
    <section
      aria-label={messages.importer.dropHint}
      className={css.dropZone}
      data-dragging={isDragging || undefined}
      onDrop={handleDrop}
      onDragOver={handleDragOver}
      onDragLeave={() => setDragging(false)}
    >
      <Icon name="upload" size={30} />
      <p>{messages.importer.dropHint}</p>
      <input
        ref={input}
        type="file"
        accept=".json,.yaml,.yml,.zip"
        aria-label={messages.importer.chooseFile}
        hidden
        onChange={handleChange}
      />
      <Button variant="default" onClick={() => input.current?.click()}>
        {messages.importer.chooseFile}
      </Button>
    </section>
  );
}
