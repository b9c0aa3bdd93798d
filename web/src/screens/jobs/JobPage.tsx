import { useParams } from 'wouter';
import { useJob } from '~/api/jobs';
import { BackLink } from '~/components/BackLink';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { JobDetails } from './JobDetails';

/** One job: its questions while it waits, its progress while it runs, and its result. */
export default function JobPage() {
  const messages = useMessages();
  const { id = '' } = useParams();
  return (
    <>
      <BackLink href="/jobs" label={messages.jobs.title} />
      <QueryView query={useJob(id)}>{(job) => <JobDetails job={job} />}</QueryView>
    </>
  );
}
