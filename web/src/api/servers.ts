// MCP servers: state, log, connection test and quarantined tools.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from './client';

export type Server = Schemas['ServerResponse'];
export type QuarantinedTool = Schemas['QuarantinedToolResponse'];

const pathParams = (name: string) => ({ params: { path: { name } } });

export const useServers = () =>
  useQuery({
    queryKey: ['servers'],
    queryFn: async () => (await unwrap(api.GET('/servers'))).servers,
    refetchInterval: 10_000,
  });

export const useQuarantine = (name: string) =>
  useQuery({
    queryKey: ['servers', name, 'quarantine'],
    queryFn: async () => (await unwrap(api.GET('/servers/{name}/quarantine', pathParams(name)))).tools,
  });

export const useToolAccess = (name: string) =>
  useQuery({
    queryKey: ['servers', name, 'tools'],
    queryFn: async () => (await unwrap(api.GET('/servers/{name}/tools', pathParams(name)))).tools,
  });

export const useServerLog = (name: string) =>
  useQuery({
    queryKey: ['servers', name, 'log'],
    queryFn: async () => (await unwrap(api.GET('/servers/{name}/log', pathParams(name)))).lines,
    refetchInterval: 5_000,
  });

function useServerMutation<Args, Result>(mutationFn: (args: Args) => Promise<Result>) {
  const queries = useQueryClient();
  const keys = ['servers', 'tools', 'bundles', 'signatures'];
  const refresh = () => Promise.all(keys.map((key) => queries.invalidateQueries({ queryKey: [key] })));
  return useMutation({ mutationFn, onSettled: refresh });
}

export const useProbeServer = () =>
  useServerMutation((name: string) => unwrap(api.POST('/servers/{name}/probe', pathParams(name))));

/** Approve tools by name and pin. A tool that changed after it was shown stays quarantined. */
export const useApproveTools = (name: string) =>
  useServerMutation((seen: Record<string, string>) =>
    unwrap(api.POST('/servers/{name}/approve', { ...pathParams(name), body: { seen } })),
  );
