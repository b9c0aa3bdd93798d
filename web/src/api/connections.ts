// Logins of the user and of the workspace to MCP servers. They exist only in hosted mode.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from './client';

export type Connection = Schemas['ConnectionResponse'];
export type LoginOwner = Schemas['ConnectionLoginBody']['of'];

const QUERY_KEY = ['connections'];

export const useConnections = () =>
  useQuery({
    queryKey: QUERY_KEY,
    queryFn: async () => (await unwrap(api.GET('/connections'))).connections,
  });

function useConnectionMutation<Args, Result>(mutationFn: (args: Args) => Promise<Result>) {
  const queries = useQueryClient();
  return useMutation({ mutationFn, gcTime: 0, onSettled: () => queries.invalidateQueries({ queryKey: QUERY_KEY }) });
}

/** Begin a login and go to the page of the provider. */
export const useLogIn = (server: string) =>
  useConnectionMutation(async (of: LoginOwner) => {
    const { url } = await unwrap(
      api.POST('/connections/{server}/login', { params: { path: { server } }, body: { of } }),
    );
    location.assign(url);
  });

export const useLogOut = (server: string) =>
  useConnectionMutation((of: LoginOwner) =>
    unwrap(api.DELETE('/connections/{server}', { params: { path: { server }, query: { of } } })),
  );

/** List the tools of a server with the login of the user, for all members. */
export const useListTools = (server: string) =>
  useConnectionMutation(() => unwrap(api.POST('/connections/{server}/tools', { params: { path: { server } } })));

/** Complete the login with which the provider has sent the browser back. */
export const useFinishLogin = () =>
  useConnectionMutation((body: Schemas['LoginResultBody']) => unwrap(api.POST('/connections/callback', { body })));
