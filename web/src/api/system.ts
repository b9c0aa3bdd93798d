// Code, servers, figures and health.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { answerOf, api, type Schemas } from './client';

export type RunAnswer = Schemas['RunAnswer'];
export type Server = Schemas['ServerAnswer'];
export type HeldBackTool = Schemas['HeldBackTool'];
export type Period = 'day' | 'week' | 'month' | 'all';

const signatures = { queryKey: ['signatures'], queryFn: () => answerOf(api.GET('/signatures')), staleTime: 60_000 };
export const useSignatures = () => useQuery(signatures);

/** What is known of packs, for who can wait for it. */
export function usePacks() {
  const queries = useQueryClient();
  return useCallback(async () => (await queries.ensureQueryData(signatures)).packs, [queries]);
}

export const useRun = () => useMutation({ mutationFn: (command: string) => answerOf(api.POST('/run', { body: { command } })) });

export const useServers = () => useQuery({ queryKey: ['servers'], queryFn: async () => (await answerOf(api.GET('/servers'))).servers, refetchInterval: 10_000 });

const named = (name: string) => ({ params: { path: { name } } });

export const useHeldBack = (name: string, enabled: boolean) =>
  useQuery({ queryKey: ['servers', name, 'held'], queryFn: async () => (await answerOf(api.GET('/servers/{name}/held-back', named(name)))).tools, enabled });

export const useServerLog = (name: string) =>
  useQuery({ queryKey: ['servers', name, 'log'], queryFn: async () => (await answerOf(api.GET('/servers/{name}/log', named(name)))).lines, refetchInterval: 5_000 });

function useServerChange<Args, Result>(change: (args: Args) => Promise<Result>) {
  const queries = useQueryClient();
  const again = () => Promise.all(['servers', 'tools', 'bundles', 'signatures'].map((key) => queries.invalidateQueries({ queryKey: [key] })));
  return useMutation({ mutationFn: change, onSettled: again });
}

export const useProbe = () => useServerChange((name: string) => answerOf(api.POST('/servers/{name}/probe', named(name))));
/** Approve tools as they were shown: each name with its pin, so that what has changed since stays back. */
export const useApprove = (name: string) =>
  useServerChange((seen: Record<string, string>) => answerOf(api.POST('/servers/{name}/approve', { ...named(name), body: { seen } })));

export const useUsage = (period: Period) =>
  useQuery({ queryKey: ['usage', period], queryFn: () => answerOf(api.GET('/usage', { params: { query: { period } } })), refetchInterval: 4_000, placeholderData: (before) => before });

export const useHealth = () => useQuery({ queryKey: ['health'], queryFn: () => answerOf(api.GET('/health')), refetchInterval: 30_000 });
