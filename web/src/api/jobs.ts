// Calls that wait for answers or take long, and the questions that they ask.
import { useQuery } from '@tanstack/react-query';
import { useChange } from './changes';
import { api, type Schemas, unwrap } from './client';

export type Job = Schemas['JobResponse'];
export type JobStatus = Job['status'];
export type Answer = Schemas['AnswerBody'];
export type ShownArgument = Schemas['ArgumentResponse'];
export type Approval = Schemas['ApprovalResponse'];

/** A question, and the id of the job that asks it. */
export type Question = Schemas['QuestionResponse'] & { job: string };

const ENDED: readonly JobStatus[] = ['succeeded', 'failed', 'cancelled', 'lost'];

export const isEnded = ({ status }: Job) => ENDED.includes(status);

const pathParams = (id: string) => ({ params: { path: { id } } });

export const useJobs = () =>
  useQuery({
    queryKey: ['jobs'],
    queryFn: async () => (await unwrap(api.GET('/jobs'))).jobs,
    refetchInterval: 3_000,
  });

/** Load a job. It is followed closely until it ends. */
export const useJob = (id: string) =>
  useQuery({
    queryKey: ['jobs', id],
    queryFn: () => unwrap(api.GET('/jobs/{id}', pathParams(id))),
    refetchInterval: ({ state }) => (state.data && isEnded(state.data) ? false : 1_000),
  });

export const useCancelJob = (id: string) =>
  useChange(() => unwrap(api.POST('/jobs/{id}/cancel', pathParams(id))), ['jobs']);

/** Answer a question. It can be answered once. */
export const submitAnswer = ({ job, id }: Question, answer: Answer) =>
  unwrap(api.POST('/jobs/{id}/answers', { ...pathParams(job), body: { answers: { [id]: answer } } }));

/** Fetch the call that a question asks to approve, with nothing hidden but secrets. */
export const fetchApproval = ({ job, id }: Question) =>
  unwrap(api.GET('/jobs/{id}/questions/{question}', { params: { path: { id: job, question: id } } }));
