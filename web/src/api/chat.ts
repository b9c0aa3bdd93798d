// Chat providers and stored sessions.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useChange } from './changes';
import { api, type Schemas, unwrap } from './client';

export type Message = Schemas['MessageResponse'];
export type SessionSummary = Schemas['SessionSummaryResponse'];
export type ChatBody = Partial<Schemas['ChatBody']> & { text: string };

export const useProviders = () => useQuery({ queryKey: ['providers'], queryFn: () => unwrap(api.GET('/providers')) });

export function useSessions() {
  return useInfiniteQuery({
    queryKey: ['sessions'],
    queryFn: ({ pageParam }) => unwrap(api.GET('/sessions', { params: { query: { cursor: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

export const fetchSession = (id: string) => unwrap(api.GET('/sessions/{id}', { params: { path: { id } } }));

function useSessionChange<Args>(mutationFn: (args: Args) => Promise<unknown>) {
  return useChange(mutationFn, ['sessions']);
}

export const useRenameSession = () =>
  useSessionChange(({ id, title }: { id: string; title: string }) =>
    unwrap(api.PATCH('/sessions/{id}', { params: { path: { id } }, body: { title } })),
  );

export const useDeleteSession = () =>
  useSessionChange((id: string) => unwrap(api.DELETE('/sessions/{id}', { params: { path: { id } } })));
