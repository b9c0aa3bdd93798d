import { useMessages } from '~/i18n';
import { isHttpsUrl } from './isHttpsUrl';
import css from './registry.module.css';

/** The repository that a publisher names: a link if it is an https URL, otherwise text. */
export function RepositoryLink({ url }: { url: string }) {
  const messages = useMessages();
  if (!isHttpsUrl(url)) return <span className={css.untrusted}>{url || messages.registry.noRepository}</span>;
  return (
    <a className={css.untrusted} href={url} target="_blank" rel="noopener noreferrer">
      {url}
    </a>
  );
}
