// Whether the server knows this browser: a cookie that no script can read.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { answerOf, api, onSignedOut } from './client';

const KEY = ['login'];

export function useLogin() {
  const queries = useQueryClient();
  useEffect(() => onSignedOut(() => queries.setQueryData(KEY, false)), [queries]);
  return useQuery({
    queryKey: KEY,
    queryFn: async () => (await answerOf(api.GET('/login'))).loggedIn,
    staleTime: Infinity,
  });
}

export function useLogIn() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (token: string) => answerOf(api.POST('/login', { body: { token } })),
    onSuccess: () => queries.setQueryData(KEY, true),
  });
}

export function useLogOut() {
  return useMutation({
    mutationFn: () => answerOf(api.POST('/logout')),
    onSuccess: () => {
      sessionStorage.clear();
      location.reload(); // whoever comes next finds nothing in memory either
    },
  });
}
