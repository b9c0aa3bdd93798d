import { Link } from 'wouter';
import type { Job } from '~/api/jobs';
import { Tag } from '~/components/Tag';
import { ToolName } from '~/components/ToolName';
import { useLanguage } from '~/i18n';
import css from './jobs.module.css';
import { STATUS_TONES } from './statusTones';

export function JobRow({ job }: { job: Job }) {
  const { locale, messages } = useLanguage();
  return (
    <li>
      <Link href={`/jobs/${job.id}`} className={css.row}>
        <ToolName name={job.tool} className={css.tool} />
        <Tag tone={STATUS_TONES[job.status]}>{messages.jobs.status[job.status]}</Tag>
        <span className={css.progress}>{job.status === 'running' && messages.jobs.progress(job.progress)}</span>
        <time className={css.muted} dateTime={new Date(job.createdAt * 1000).toISOString()}>
          {new Date(job.createdAt * 1000).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'short' })}
        </time>
      </Link>
    </li>
  );
}
