// API keys of a workspace. They exist only in hosted mode.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from './client';

export type ApiKey = Schemas['KeyResponse'];
export type NewApiKey = Schemas['NewKeyResponse'];

/** Load the user's keys, or those of all members. */
export const useKeys = (everyone: boolean) =>
  useQuery({
    queryKey: ['keys', everyone],
    queryFn: async () => (await unwrap(api.GET('/keys', { params: { query: { everyone } } }))).keys,
  });

function useKeyMutation<Args, Result>(mutationFn: (args: Args) => Promise<Result>) {
  const queries = useQueryClient();
  // A new key is secret, so no response is kept in the cache.
  return useMutation({ mutationFn, gcTime: 0, onSettled: () => queries.invalidateQueries({ queryKey: ['keys'] }) });
}

export const useCreateKey = () => useKeyMutation((body: Schemas['KeyBody']) => unwrap(api.POST('/keys', { body })));

export const useRevokeKey = (id: string) =>
  useKeyMutation(() => unwrap(api.DELETE('/keys/{id}', { params: { path: { id } } })));
