// The user's own secrets and, in hosted mode, those of the workspace, without their values.
import { useQuery } from '@tanstack/react-query';
import { useChange } from './changes';
import { api, type Schemas, unwrap } from './client';

export type Secret = Schemas['SecretResponse'];
export type SecretOwner = Secret['of'];

export const useSecrets = (enabled = true) =>
  useQuery({ queryKey: ['secrets'], queryFn: async () => (await unwrap(api.GET('/secrets'))).secrets, enabled });

function useSecretChange<Args, Result>(mutationFn: (args: Args) => Promise<Result>) {
  return useChange(mutationFn, ['secrets']);
}

/** Create a secret, or replace its value and hosts. */
export const useSaveSecret = () =>
  useSecretChange(({ name, ...body }: Schemas['SecretBody'] & { name: string }) =>
    unwrap(api.PUT('/secrets/{name}', { params: { path: { name } }, body })),
  );

export const useDeleteSecret = ({ name, of }: Secret) =>
  useSecretChange(() => unwrap(api.DELETE('/secrets/{name}', { params: { path: { name }, query: { of } } })));
