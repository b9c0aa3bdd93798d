// Invitations to a workspace, as owners see them. They exist only in hosted mode.
import { useQuery } from '@tanstack/react-query';
import { useChange } from './changes';
import { api, type Schemas, unwrap } from './client';

export type SentInvitation = Schemas['InvitationResponse'];
export type NewInvitation = Schemas['NewInvitationResponse'];

export const useInvitations = () =>
  useQuery({
    queryKey: ['invitations'],
    queryFn: async () => (await unwrap(api.GET('/invitations'))).invitations,
  });

function useInvitationChange<Args, Result>(mutationFn: (args: Args) => Promise<Result>) {
  return useChange(mutationFn, ['invitations']);
}

export const useCreateInvitation = () =>
  useInvitationChange((body: Schemas['InvitationBody']) => unwrap(api.POST('/invitations', { body })));

export const useRevokeInvitation = (id: string) =>
  useInvitationChange(() => unwrap(api.DELETE('/invitations/{id}', { params: { path: { id } } })));
