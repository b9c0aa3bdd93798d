import { resultUrl, type StoredMedia } from '~/api/content';
import { SvgImage } from './SvgImage';

/** The largest SVG that is shown, in bytes. */
const MAX_SVG_SIZE = 2 ** 20;
const IMAGE_TYPE = /^image\/(png|jpeg|gif|webp|avif|bmp)$/i;
const AUDIO_TYPE = /^audio\/[a-z0-9.-]+$/i;
const SVG_TYPE = /^image\/svg\+xml$/i;

interface Props {
  media: StoredMedia;
  label: string;
  onError: () => void;
}

/** An image or a player. Other types, HTML among them, are never shown. */
export function MediaPreview({ media, label, onError }: Props) {
  const url = resultUrl(media.handle);
  if (IMAGE_TYPE.test(media.mimeType)) return <img src={url} alt={label} onError={onError} />;
  if (SVG_TYPE.test(media.mimeType) && media.size <= MAX_SVG_SIZE) {
    return <SvgImage handle={media.handle} label={label} onError={onError} />;
  }
  // biome-ignore lint/a11y/useMediaCaption: a tool sends no captions
  if (AUDIO_TYPE.test(media.mimeType)) return <audio controls src={url} aria-label={label} onError={onError} />;
  return null;
}
