// Who may call which tool, and the rules that decide it.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from './client';

export type ToolDecisions = Schemas['ToolDecisionsResponse'];
export type Decision = Schemas['DecisionResponse'];
export type Rule = Schemas['RuleResponse'];
export type Effect = Decision['effect'];

const PAGE_SIZE = 100;

/** List who may call the tools whose names contain a text, page by page. In workspaces, decisions are about a member. */
export const useAccess = (query: string, member?: string) =>
  useInfiniteQuery({
    queryKey: ['tools', 'access', query, member], // changes of tools change it, too
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => {
      const params = { query: pageParam ? { pageToken: pageParam } : { query, member, pageSize: PAGE_SIZE } };
      return unwrap(api.GET('/access', { params, signal }));
    },
    getNextPageParam: ({ nextPageToken }) => nextPageToken ?? undefined,
    select: ({ pages }) => pages.flatMap(({ tools }) => tools),
    // Never the decisions about another member.
    placeholderData: (previous, query) => (query?.queryKey[3] === member ? previous : undefined),
  });

/** Load who may call a tool, by its name or `name@version`. */
export const useToolDecisions = (name: string) =>
  useQuery({
    queryKey: ['tools', 'decisions', name],
    queryFn: () => unwrap(api.GET('/access/{name}', { params: { path: { name } } })),
  });
