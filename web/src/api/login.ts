// Login status and session cookie. Scripts cannot read the cookie.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, onUnauthorized, unwrap } from './client';

const QUERY_KEY = ['login'];

export function useLoginStatus() {
  const queries = useQueryClient();
  useEffect(() => onUnauthorized(() => queries.setQueryData(QUERY_KEY, false)), [queries]);
  return useQuery({
    queryKey: QUERY_KEY,
    queryFn: async () => (await unwrap(api.GET('/login'))).loggedIn,
    staleTime: Infinity,
  });
}

export function useLogIn() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (token: string) => unwrap(api.POST('/login', { body: { token } })),
    onSuccess: () => queries.setQueryData(QUERY_KEY, true),
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
