// The audit log: who has changed what. It exists only in hosted mode.
import { useInfiniteQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from './client';
import { apiUrl } from './workspace';

export type AuditEntry = Schemas['AuditRecord'];

/** Which changes to list. Empty texts match all. */
export interface AuditFilter {
  actor: string;
  /** An action, or all of a kind, such as `bundle`. */
  action: string;
  target: string;
  /** Local times as date fields write them, such as `2026-11-18T09:30`. */
  since: string;
  until: string;
}

const toSeconds = (text: string): number | undefined => (text ? new Date(text).getTime() / 1000 : undefined);

/** Return the parameters of a request. Times become seconds since the epoch. */
export const toAuditQuery = ({ actor, action, target, since, until }: AuditFilter) => ({
  actor: actor.trim() || undefined,
  action: action || undefined,
  target: target.trim() || undefined,
  since: toSeconds(since),
  until: toSeconds(until),
});

/** List changes page by page, newest first. */
export const useAudit = (filter: AuditFilter) =>
  useInfiniteQuery({
    queryKey: ['audit', filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      unwrap(api.GET('/audit', { params: { query: { ...toAuditQuery(filter), cursor: pageParam } }, signal })),
    getNextPageParam: ({ next }) => next ?? undefined,
    select: ({ pages }) => pages.flatMap(({ entries }) => entries),
    placeholderData: (previous) => previous,
  });

/** Return the URL of all changes that match a filter, as lines of JSON. */
export function auditExportUrl(filter: AuditFilter): string {
  const values = Object.entries(toAuditQuery(filter)).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  const query = new URLSearchParams(values).toString();
  return apiUrl(query ? `/audit/export?${query}` : '/audit/export');
}
