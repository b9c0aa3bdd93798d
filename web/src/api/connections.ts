// Logins of the user and of the workspace to MCP servers. They exist only in hosted mode.
import { useQuery } from '@tanstack/react-query';
import { useChange } from './changes';
import { api, type Schemas, unwrap } from './client';

export type Connection = Schemas['ConnectionResponse'];
export type LoginOwner = Schemas['ConnectionLoginBody']['of'];

export const useConnections = () =>
  useQuery({
    queryKey: ['connections'],
    queryFn: async () => (await unwrap(api.GET('/connections'))).connections,
  });

function useConnectionChange<Args, Result>(mutationFn: (args: Args) => Promise<Result>) {
  return useChange(mutationFn, ['connections']);
}

/** Begin a login and go to the page of the provider. */
export const useLogIn = (server: string) =>
  useConnectionChange(async (of: LoginOwner) => {
    const { url } = await unwrap(
      api.POST('/connections/{server}/login', { params: { path: { server } }, body: { of } }),
    );
    location.assign(url);
  });

export const useLogOut = (server: string) =>
  useConnectionChange((of: LoginOwner) =>
    unwrap(api.DELETE('/connections/{server}', { params: { path: { server }, query: { of } } })),
  );

/** List the tools of a server with the login of the user, for all members. */
export const useListTools = (server: string) =>
  useConnectionChange(() => unwrap(api.POST('/connections/{server}/tools', { params: { path: { server } } })));

/** Complete the login with which the provider has sent the browser back. */
export const useFinishLogin = () =>
  useConnectionChange((body: Schemas['LoginResultBody']) => unwrap(api.POST('/connections/callback', { body })));
