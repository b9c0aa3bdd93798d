import { Link } from 'wouter';
import type { SessionSummary } from '~/api/chat';
import { useLanguage } from '~/i18n';
import css from './chat.module.css';
import { SessionActions } from './SessionActions';

interface Props {
  session: SessionSummary;
  isCurrent: boolean;
  onSelect?: () => void;
}

export function SessionItem({ session, isCurrent, onSelect }: Props) {
  const { locale, messages } = useLanguage();
  const title = session.title || messages.chat.untitled;
  const date = new Date(session.at * 1000).toLocaleDateString(locale, { day: 'numeric', month: 'short' });
  return (
    <li className={css.session} data-current={isCurrent || undefined}>
      <Link
        href={`/chat/${encodeURIComponent(session.id)}`}
        aria-current={isCurrent ? 'true' : undefined}
        onClick={onSelect}
      >
        <span className={css.sessionTitle}>{title}</span>
        <span className={css.muted}>{date}</span>
      </Link>
      <SessionActions id={session.id} title={title} isCurrent={isCurrent} />
    </li>
  );
}
