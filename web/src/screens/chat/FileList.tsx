import { ActionIcon } from '@mantine/core';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import { formatBytes } from '~/screens/activity/recordText';
import css from './chat.module.css';
import type { ChatFile } from './chatFiles';

/** The files of a message: of one that is being written, with buttons to remove them, or of one that was sent. */
export function FileList({ files, onRemove }: { files: ChatFile[]; onRemove?: (id: number) => void }) {
  const { chatFiles: texts } = useMessages();
  if (files.length === 0) return null;
  return (
    <ul className={css.files} aria-label={texts.label}>
      {files.map((file) => (
        <li key={file.id}>
          {file.imageType ? (
            <img src={`data:${file.imageType};base64,${file.data}`} alt={file.name} className={css.localImage} />
          ) : (
            <Icon name="resources" size={16} />
          )}
          <span>{file.name}</span>
          <span className={css.muted}>{formatBytes(file.size)}</span>
          {onRemove && (
            <ActionIcon
              variant="subtle"
              color="gray"
              size="sm"
              aria-label={texts.remove(file.name)}
              onClick={() => onRemove(file.id)}
            >
              <Icon name="close" size={15} />
            </ActionIcon>
          )}
        </li>
      ))}
    </ul>
  );
}
