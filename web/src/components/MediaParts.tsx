import { type ContentPart, storedMedia } from '~/api/content';
import { useMessages } from '~/i18n';
import { MediaPart } from './MediaPart';
import css from './media.module.css';

/** The media in the content of a result: images and sounds are shown, everything can be downloaded. */
export function MediaParts({ parts }: { parts: readonly ContentPart[] }) {
  const messages = useMessages();
  const media = storedMedia(parts);
  if (media.length === 0) return null;
  return (
    <ul className={css.list} aria-label={messages.media.label}>
      {media.map((item) => (
        <li key={item.handle}>
          <MediaPart media={item} />
        </li>
      ))}
    </ul>
  );
}
