import { useState } from 'react';
import { resultUrl, type StoredMedia } from '~/api/content';
import { useMessages } from '~/i18n';
import { MediaPreview } from './MediaPreview';
import css from './media.module.css';

/** One of the media, with its type, its size and a link to download it. */
export function MediaPart({ media }: { media: StoredMedia }) {
  const messages = useMessages();
  const [isFailed, setFailed] = useState(false);
  const label = messages.media.description(media.mimeType, media.size);
  return (
    <figure className={css.media}>
      {!isFailed && <MediaPreview media={media} label={label} onError={() => setFailed(true)} />}
      <figcaption>
        <span>{label}</span>
        {isFailed && <span>{messages.media.unavailable}</span>}
        <a href={resultUrl(media.handle)} download>
          {messages.media.download}
        </a>
      </figcaption>
    </figure>
  );
}
