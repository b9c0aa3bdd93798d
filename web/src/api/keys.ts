// API keys of a workspace. They exist only in hosted mode.
import { useQuery } from '@tanstack/react-query';
import { useChange } from './changes';
import { api, type Schemas, unwrap } from './client';

export type ApiKey = Schemas['KeyResponse'];
export type NewApiKey = Schemas['NewKeyResponse'];

/** Load the user's keys, or those of all members. */
export const useKeys = (everyone: boolean) =>
  useQuery({
    queryKey: ['keys', everyone],
    queryFn: async () => (await unwrap(api.GET('/keys', { params: { query: { everyone } } }))).keys,
  });

export const useCreateKey = () =>
  useChange((body: Schemas['KeyBody']) => unwrap(api.POST('/keys', { body })), ['keys']);

export const useRevokeKey = (id: string) =>
  useChange(() => unwrap(api.DELETE('/keys/{id}', { params: { path: { id } } })), ['keys']);
