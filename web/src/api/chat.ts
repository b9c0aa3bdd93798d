// Conversations: the models, what was said, and what is being said.
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { answerOf, api, type Schemas } from './client';

export type Message = Schemas['MessageAnswer'];
export type SessionHead = Schemas['SessionHead'];
export type Decision = Schemas['DecisionBody']['decision'];
export type ChatBody = Partial<Schemas['ChatBody']> & { text: string };

export const useProviders = () => useQuery({ queryKey: ['providers'], queryFn: () => answerOf(api.GET('/providers')) });

export function useSessions() {
  return useInfiniteQuery({
    queryKey: ['sessions'],
    queryFn: ({ pageParam }) => answerOf(api.GET('/sessions', { params: { query: { cursor: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

export const readSession = (id: string) => answerOf(api.GET('/sessions/{id}', { params: { path: { id } } }));

function useChange<Args>(change: (args: Args) => Promise<unknown>) {
  const queries = useQueryClient();
  return useMutation({ mutationFn: change, onSettled: () => queries.invalidateQueries({ queryKey: ['sessions'] }) });
}

export const useRename = () => useChange(({ id, title }: { id: string; title: string }) => answerOf(api.PATCH('/sessions/{id}', { params: { path: { id } }, body: { title } })));
export const useForget = () => useChange((id: string) => answerOf(api.DELETE('/sessions/{id}', { params: { path: { id } } })));

/** Answer a question whether a tool may run. */
export const decide = (id: string, decision: Decision) => answerOf(api.POST('/chat/approvals/{id}', { params: { path: { id } }, body: { decision } }));
