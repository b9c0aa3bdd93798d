// Code execution and the signatures of packs.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { api, type Schemas, unwrap } from './client';

export type RunResponse = Schemas['RunResponse'];
export type Packs = Schemas['Signatures']['packs'];

const signaturesQuery = {
  queryKey: ['signatures'],
  queryFn: () => unwrap(api.GET('/signatures')),
  staleTime: 60_000,
};

export const useSignatures = () => useQuery(signaturesQuery);

/** Return a function that resolves to the packs, from the cache if they are loaded. */
export function usePackLoader() {
  const queries = useQueryClient();
  return useCallback(async (): Promise<Packs> => (await queries.ensureQueryData(signaturesQuery)).packs, [queries]);
}

export const useRun = () =>
  useMutation({
    mutationFn: async (command: string) =>
      (await unwrap(api.POST('/run', { body: { command, interactive: false } }))) as RunResponse,
  });
