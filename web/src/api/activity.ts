// The record of finished calls, of all interfaces and processes.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, type Schemas, unwrap } from './client';

export type ActivityRecord = Schemas['ActivityRecord'];
export type ActivityDetails = Schemas['ActivityDetails'];

const PERIOD_S = { hour: 3_600, day: 86_400, week: 604_800 };
export type Period = keyof typeof PERIOD_S;
export const PERIODS = Object.keys(PERIOD_S) as Period[];

/** Which calls to list. Empty texts match all. */
export interface ActivityFilter {
  tool: string;
  interface: string;
  client: string;
  profile: string;
  period: Period | '';
  isFailedOnly: boolean;
  /** Whether to list calls inside other calls, too. */
  withNested: boolean;
}

const POLL_MS = 2_000;

const toQuery = (filter: ActivityFilter) => ({
  tool: filter.tool || undefined,
  interface: filter.interface || undefined,
  client: filter.client || undefined,
  profile: filter.profile || undefined,
  since: filter.period ? Date.now() / 1000 - PERIOD_S[filter.period] : undefined,
  ok: filter.isFailedOnly ? false : undefined,
  parent: filter.withNested ? undefined : '',
});

/** List calls page by page, newest first. If live, new calls are added as they end. */
export function useActivity(filter: ActivityFilter, isLive: boolean) {
  const list = useInfiniteQuery({
    queryKey: ['activity', 'list', filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      unwrap(api.GET('/activity', { params: { query: { ...toQuery(filter), cursor: pageParam } }, signal })),
    getNextPageParam: ({ next }) => next ?? undefined,
    select: ({ pages }) => ({
      records: pages.flatMap(({ records }) => records),
      generation: pages[0]?.generation,
    }),
    placeholderData: (previous) => previous,
  });
  const { data: latest } = useQuery({
    queryKey: ['activity', 'generation'],
    queryFn: async () => (await unwrap(api.GET('/activity', { params: { query: { limit: 1 } } }))).generation,
    enabled: isLive,
    refetchInterval: POLL_MS,
  });
  const { refetch } = list;
  const shown = list.data?.generation;
  useEffect(() => {
    const isOutdated = latest !== undefined && shown !== undefined && latest !== shown;
    if (isLive && isOutdated) void refetch({ cancelRefetch: false });
  }, [isLive, latest, shown, refetch]);
  return list;
}

/** Load a call with its arguments, its result and the calls inside it. */
export const useRecordedCall = (id: string) => useQuery(recordedCallQuery(id));

export const recordedCallQuery = (id: string) => ({
  queryKey: ['activity', 'call', id],
  queryFn: () => unwrap(api.GET('/activity/{id}', { params: { path: { id } } })),
});

/** How many calls of a tool the tester lists. */
const HISTORY_LENGTH = 10;

/** Load the latest calls of a tool, also those inside other calls. */
export const useToolHistory = (tool: string) =>
  useQuery({
    queryKey: ['activity', 'tool', tool],
    queryFn: async () => {
      const query = { tool, limit: HISTORY_LENGTH };
      return (await unwrap(api.GET('/activity', { params: { query } }))).records;
    },
  });
