import { useEffect } from 'react';
import { useResultText } from '~/api/content';

interface Props {
  handle: string;
  label: string;
  onError: () => void;
}

/**
 * A stored SVG. Browsers run no scripts and load nothing for an SVG in an `img`. Its URL contains the SVG itself,
 * so that the page of an image opened on its own does not have our origin.
 */
export function SvgImage({ handle, label, onError }: Props) {
  const { data, isError } = useResultText(handle);
  useEffect(() => {
    if (isError) onError();
  }, [isError, onError]);
  if (typeof data !== 'string') return null;
  return <img src={`data:image/svg+xml,${encodeURIComponent(data)}`} alt={label} onError={onError} />;
}
