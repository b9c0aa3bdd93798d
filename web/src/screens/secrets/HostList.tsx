import { useMessages } from '~/i18n';
import css from '~/screens/members/members.module.css';

/** The hosts to which a secret may be sent; null: any. */
export function HostList({ hosts }: { hosts: string[] | null }) {
  const texts = useMessages().secrets;
  if (!hosts?.length) return <span>{hosts ? texts.noHost : texts.anyHost}</span>;
  return (
    <span className={css.patterns}>
      {hosts.map((host) => (
        <code key={host}>{host}</code>
      ))}
    </span>
  );
}
