import type { CallResult } from '~/api/calls';
import type { Job } from '~/api/jobs';
import type { RunResponse } from '~/api/run';
import { useMessages } from '~/i18n';
import { RunOutput } from '~/screens/playground/RunOutput';
import { CallOutput } from '~/screens/tester/CallOutput';
import css from './jobs.module.css';

/** The result of a job that has ended, as its call or its run would have returned it. */
export function JobResult({ job: { result, createdAt, endedAt } }: { job: Job }) {
  const messages = useMessages();
  if (!result) return <p className={css.muted}>{messages.jobs.noResult}</p>;
  if ('calls' in result) return <RunOutput run={result as RunResponse} />;
  const call = result as CallResult;
  return <CallOutput result={call} ms={call.meta.durationMs || 1000 * ((endedAt ?? createdAt) - createdAt)} />;
}
