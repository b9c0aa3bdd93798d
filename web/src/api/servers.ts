// MCP servers: state, settings, log, connection test and quarantined tools.
import { useMutation, useQuery } from '@tanstack/react-query';
import { useChange } from './changes';
import { api, type Schemas, unwrap } from './client';
import { streamPost } from './sse';

export type Server = Schemas['ServerResponse'];
export type ServerState = Server['state'];
export type QuarantinedTool = Schemas['QuarantinedToolResponse'];
export type PlannedServer = Schemas['PlannedServerResponse'];
export type ImportSource = Pick<Schemas['ImportBody'], 'text' | 'client'>;
export type ServerSettings = Record<string, unknown>;

const pathParams = (name: string) => ({ params: { path: { name } } });

export const useServers = () =>
  useQuery({
    queryKey: ['servers'],
    queryFn: () => unwrap(api.GET('/servers')),
    // A server that starts is followed closely.
    refetchInterval: ({ state }) =>
      state.data?.servers.some((server) => server.state === 'starting') ? 1_000 : 10_000,
  });

/** Load a server with its instructions. */
export const useServer = (name: string) =>
  useQuery({
    queryKey: ['servers', name, 'details'],
    queryFn: () => unwrap(api.GET('/servers/{name}', pathParams(name))),
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

/** Load the log of a server. It is followed closely while `isLive` is set. */
export const useServerLog = (name: string, isLive: boolean) =>
  useQuery({
    queryKey: ['servers', name, 'log'],
    queryFn: async () => (await unwrap(api.GET('/servers/{name}/log', pathParams(name)))).lines,
    refetchInterval: isLive ? 500 : 5_000,
  });

/** Load the settings of a server. They are read when a form opens, not in the background. */
export const useServerSettings = (name: string) =>
  useQuery({
    queryKey: ['server-settings', name], // other changes do not replace what the user edits
    queryFn: () => unwrap(api.GET('/servers/{name}/settings', pathParams(name))),
    gcTime: 0,
    refetchOnWindowFocus: false,
  });

export const useMcpClients = () =>
  useQuery({
    queryKey: ['mcp-clients'],
    queryFn: async () => (await unwrap(api.GET('/servers/clients'))).clients,
  });

export function useServerChange<Args, Result>(mutationFn: (args: Args) => Promise<Result>) {
  return useChange(mutationFn, ['servers', 'tools', 'bundles', 'signatures', 'contents']);
}

export const useProbeServer = () =>
  useServerChange((name: string) => unwrap(api.POST('/servers/{name}/probe', pathParams(name))));

/** Approve tools by name and pin. A tool that changed after it was shown stays quarantined. */
export const useApproveTools = (name: string) =>
  useServerChange((seen: Record<string, string>) =>
    unwrap(api.POST('/servers/{name}/approve', { ...pathParams(name), body: { seen } })),
  );

/** Load what an import would write. */
export const usePreviewImport = () =>
  useMutation({
    mutationFn: (source: ImportSource) =>
      unwrap(api.POST('/servers/import/preview', { body: { ...source, names: {} } })),
  });

export const useImportServers = () =>
  useServerChange((body: Schemas['ConfirmedImportBody']) => unwrap(api.POST('/servers/import', { body })));

export const useSaveServer = (name: string) =>
  useServerChange((body: { settings: ServerSettings; digest: string }) =>
    unwrap(api.PUT('/servers/{name}/settings', { ...pathParams(name), body })),
  );

export const useSwitchServer = (name: string) =>
  useServerChange((enabled: boolean) =>
    unwrap(api.PATCH('/servers/{name}', { ...pathParams(name), body: { enabled } })),
  );

export const useRemoveServer = (name: string) =>
  useServerChange(() => unwrap(api.DELETE('/servers/{name}', pathParams(name))));

/** Log in to a remote server. `onPage` receives the URL of the page to open. Resolves after the login. */
export function useLogIn(name: string, onPage: (url: string) => void) {
  return useServerChange(async (signal: AbortSignal) => {
    const url = `/servers/${encodeURIComponent(name)}/login`;
    for await (const { event, data } of streamPost(url, {}, signal)) {
      if (event === 'page') onPage((data as { url: string }).url);
      if (event === 'error') throw new Error((data as { detail: string }).detail);
      if (event === 'done') return;
    }
  });
}
