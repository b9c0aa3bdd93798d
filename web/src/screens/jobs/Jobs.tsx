import { useJobs } from '~/api/jobs';
import { EmptyAction } from '~/components/EmptyAction';
import { EmptyState } from '~/components/EmptyState';
import { InlineMarkdown } from '~/components/InlineMarkdown';
import { PageHeader } from '~/components/PageHeader';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { JobRow } from './JobRow';
import css from './jobs.module.css';

/** The calls that wait for answers or take long. */
export default function Jobs() {
  const messages = useMessages();
  return (
    <>
      <PageHeader title={messages.jobs.title} lead={messages.jobs.lead} />
      <QueryView query={useJobs()}>
        {(jobs) =>
          jobs.length ? (
            <ul className={css.list} aria-label={messages.jobs.title}>
              {jobs.map((job) => (
                <JobRow key={job.id} job={job} />
              ))}
            </ul>
          ) : (
            <EmptyState title={messages.jobs.emptyTitle} icon="jobs">
              <p>
                {messages.jobs.emptyHint} <InlineMarkdown text={messages.emptyStates.jobs} />
              </p>
              <EmptyAction href="/tools" label={messages.emptyStates.tryTool} />
            </EmptyState>
          )
        }
      </QueryView>
    </>
  );
}
