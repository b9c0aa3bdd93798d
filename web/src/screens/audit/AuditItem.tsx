import type { AuditEntry, AuditFilter } from '~/api/audit';
import { Facts } from '~/components/Facts';
import { useLanguage } from '~/i18n';
import { actionLabel } from './actions';
import css from './audit.module.css';
import { detailFacts } from './detailText';

interface Props {
  entry: AuditEntry;
  /** Names of members by their ids. */
  names: ReadonlyMap<string, string>;
  /** Lists only entries with the same actor or target. */
  onFilter: (changes: Partial<AuditFilter>) => void;
}

export function AuditItem({ entry, names, onFilter }: Props) {
  const { locale, messages } = useLanguage();
  const at = new Date(entry.at * 1000);
  const actor = names.get(entry.actor) ?? entry.actor;
  const facts = detailFacts(entry.detail);
  return (
    <li className={css.entry}>
      <div className={css.what}>
        <strong>{actionLabel(messages, entry.action)}</strong>
        <button
          type="button"
          className={css.word}
          aria-label={messages.audit.onlyTarget(entry.target)}
          onClick={() => onFilter({ target: entry.target })}
        >
          <code>{entry.target}</code>
        </button>
      </div>
      <time className={css.muted} dateTime={at.toISOString()}>
        {at.toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'medium' })}
      </time>
      <p className={css.muted}>
        {messages.audit.by}{' '}
        <button
          type="button"
          className={css.word}
          title={entry.actor}
          aria-label={messages.audit.onlyActor(actor)}
          onClick={() => onFilter({ actor: entry.actor })}
        >
          {actor}
        </button>{' '}
        {messages.audit.via(entry.interface)}
      </p>
      {facts.length > 0 && <Facts facts={facts} />}
    </li>
  );
}
