// Login status and session cookie. Scripts cannot read the cookie.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, onUnauthorized, unwrap } from './client';
import { takeLoginCode } from './loginCode';
import { WORKSPACE } from './workspace';

const QUERY_KEY = ['login'];
const LINK_KEY = ['login', 'link-rejected'];

export function useLoginStatus() {
  const queries = useQueryClient();
  useEffect(() => onUnauthorized(() => queries.setQueryData(QUERY_KEY, false)), [queries]);
  return useQuery({
    queryKey: QUERY_KEY,
    queryFn: async () => {
      const code = takeLoginCode();
      if (code) {
        const { response } = await api.POST('/login', { body: { token: code } });
        queries.setQueryData(LINK_KEY, response.status === 401);
      }
      return (await unwrap(api.GET('/login'))).loggedIn;
    },
    staleTime: Infinity,
  });
}

/** Return whether the page was opened with a login link that was used before or has expired. */
export const useRejectedLink = (): boolean =>
  useQuery({ queryKey: LINK_KEY, queryFn: () => false, enabled: false }).data ?? false;

/** Load how people log in to a workspace. */
export const useLoginConfig = () =>
  useQuery({
    queryKey: ['account-login'],
    queryFn: async () => ({ withAccount: (await unwrap(api.GET('/login'))).withAccount ?? false }),
    enabled: WORKSPACE !== '',
    staleTime: Infinity,
  });

/** Return whether people can log in at an OpenID provider. */
export const useAccountLogin = (): boolean => useLoginConfig().data?.withAccount ?? false;

export function accountLoginUrl(): string {
  return `/auth/login?next=${encodeURIComponent(location.pathname)}`;
}

export function useLogIn() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (token: string) => unwrap(api.POST('/login', { body: { token } })),
    onSuccess: () => {
      // Another user may have been logged in before.
      queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== QUERY_KEY[0] });
      queries.setQueryData(QUERY_KEY, true);
    },
  });
}

export function useLogOut() {
  return useMutation({
    mutationFn: () => unwrap(api.POST('/logout')),
    onSuccess: () => {
      sessionStorage.clear();
      location.reload(); // clears cached data from memory
    },
  });
}
