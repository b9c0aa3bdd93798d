import { Link } from 'wouter';
import type { ActivityRecord } from '~/api/activity';
import { ToolName } from '~/components/ToolName';
import { useLanguage } from '~/i18n';
import css from './activity.module.css';
import { OutcomeTag } from './OutcomeTag';

export function ActivityRow({ record }: { record: ActivityRecord }) {
  const { locale, messages } = useLanguage();
  const origin = [record.interface, record.client, record.profile].filter(Boolean);
  const ended = new Date(record.endedAt * 1000);
  return (
    <li>
      <Link href={`/activity/${encodeURIComponent(record.id)}`} className={css.record}>
        <ToolName name={record.tool} className={css.tool} />
        <OutcomeTag record={record} />
        <span className={css.origin}>
          {origin.map((text, index) => (
            <bdi key={index}>{text}</bdi>
          ))}
        </span>
        <span className={css.number}>{messages.common.duration(record.durationMs)}</span>
        <time className={css.muted} dateTime={ended.toISOString()}>
          {ended.toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'medium' })}
        </time>
      </Link>
    </li>
  );
}
