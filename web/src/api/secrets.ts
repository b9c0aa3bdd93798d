// The user's own secrets and, in hosted mode, those of the workspace, without their values.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from './client';

export type Secret = Schemas['SecretResponse'];
export type SecretOwner = Secret['of'];

export const useSecrets = (enabled = true) =>
  useQuery({ queryKey: ['secrets'], queryFn: async () => (await unwrap(api.GET('/secrets'))).secrets, enabled });

function useSecretMutation<Args, Result>(mutationFn: (args: Args) => Promise<Result>) {
  const queries = useQueryClient();
  // The arguments contain a value, so none are kept in the cache.
  return useMutation({ mutationFn, gcTime: 0, onSettled: () => queries.invalidateQueries({ queryKey: ['secrets'] }) });
}

/** Create a secret, or replace its value and hosts. */
export const useSaveSecret = () =>
  useSecretMutation(({ name, ...body }: Schemas['SecretBody'] & { name: string }) =>
    unwrap(api.PUT('/secrets/{name}', { params: { path: { name } }, body })),
  );

export const useDeleteSecret = ({ name, of }: Secret) =>
  useSecretMutation(() => unwrap(api.DELETE('/secrets/{name}', { params: { path: { name }, query: { of } } })));
