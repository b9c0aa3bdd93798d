// Invitations to a workspace, as owners see them. They exist only in hosted mode.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from './client';

export type SentInvitation = Schemas['InvitationResponse'];
export type NewInvitation = Schemas['NewInvitationResponse'];

export const useInvitations = () =>
  useQuery({
    queryKey: ['invitations'],
    queryFn: async () => (await unwrap(api.GET('/invitations'))).invitations,
  });

function useInvitationMutation<Args, Result>(mutationFn: (args: Args) => Promise<Result>) {
  const queries = useQueryClient();
  const refresh = () => queries.invalidateQueries({ queryKey: ['invitations'] });
  // A new invitation is secret, so no response is kept in the cache.
  return useMutation({ mutationFn, gcTime: 0, onSettled: refresh });
}

export const useCreateInvitation = () =>
  useInvitationMutation((body: Schemas['InvitationBody']) => unwrap(api.POST('/invitations', { body })));

export const useRevokeInvitation = (id: string) =>
  useInvitationMutation(() => unwrap(api.DELETE('/invitations/{id}', { params: { path: { id } } })));
