import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { isEnded, type Job, useCancelJob } from '~/api/jobs';
import { Card } from '~/components/Card';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Icon } from '~/components/Icon';
import { PageHeader } from '~/components/PageHeader';
import { Tag } from '~/components/Tag';
import { ToolName } from '~/components/ToolName';
import { useLanguage } from '~/i18n';
import { QuestionList } from '~/questions/QuestionList';
import { CallProgress } from '~/screens/tester/CallProgress';
import { JobResult } from './JobResult';
import css from './jobs.module.css';
import { STATUS_TONES } from './statusTones';

export function JobDetails({ job }: { job: Job }) {
  const { locale, messages } = useLanguage();
  const cancel = useCancelJob(job.id);
  const queries = useQueryClient();
  const questions = job.questions.map((question) => ({ ...question, job: job.id }));
  return (
    <>
      <PageHeader title={<ToolName name={job.tool} />}>
        {!isEnded(job) && (
          <Button
            color="red"
            variant="light"
            loading={cancel.isPending}
            leftSection={<Icon name="stop" size={15} />}
            onClick={() => cancel.mutate()}
          >
            {messages.jobs.cancel}
          </Button>
        )}
      </PageHeader>
      <Card className={css.details}>
        <div className={css.facts} role="status">
          <Tag tone={STATUS_TONES[job.status]}>{messages.jobs.status[job.status]}</Tag>
          <span className={css.muted}>
            {messages.jobs.started(new Date(job.createdAt * 1000).toLocaleString(locale))}
          </span>
          {job.endedAt !== null && (
            <span className={css.muted}>
              {messages.jobs.took(messages.common.duration(1000 * (job.endedAt - job.createdAt)))}
            </span>
          )}
        </div>
        {cancel.error ? <ErrorNotice error={cancel.error} /> : null}
        <QuestionList
          questions={questions}
          onAnswered={() => void queries.invalidateQueries({ queryKey: ['jobs', job.id] })}
        />
        {job.status === 'running' && <CallProgress progress={job.progress} />}
        {isEnded(job) && <JobResult job={job} />}
      </Card>
    </>
  );
}
