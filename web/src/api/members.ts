// Members of a workspace, their grants, and who is logged in. They exist only in hosted mode.
import { useQuery } from '@tanstack/react-query';
import { useChange } from './changes';
import { api, type Schemas, unwrap } from './client';
import { WORKSPACE } from './workspace';

export type Me = Schemas['MeResponse'];
export type Member = Schemas['MemberResponse'];
export type Role = Member['role'];
export type Grant = Schemas['GrantResponse'];
export type GrantEffect = Grant['effect'];

/** Load who is logged in. Without a workspace, there is only one user. */
export const useMe = () =>
  useQuery({ queryKey: ['me'], queryFn: () => unwrap(api.GET('/me')), enabled: WORKSPACE !== '' });

const may = (me: Me | undefined, right: string): boolean => me?.rights.includes(right) ?? false;
export const mayManage = (me: Me | undefined): boolean => may(me, 'manage');
export const mayMake = (me: Me | undefined): boolean => may(me, 'make');

/** Load the members, if the user may see them. */
export const useMembers = (isEnabled = true) =>
  useQuery({
    queryKey: ['members'],
    queryFn: async () => (await unwrap(api.GET('/members'))).members,
    enabled: isEnabled,
  });

export const useGrants = () =>
  useQuery({ queryKey: ['grants'], queryFn: async () => (await unwrap(api.GET('/grants'))).grants });

function useMemberChange<Args, Result>(mutationFn: (args: Args) => Promise<Result>) {
  return useChange(mutationFn, ['members', 'grants', 'keys', 'me', 'tools']);
}

type MemberKey = Pick<Member, 'kind' | 'id'>;
const pathParams = ({ kind, id }: MemberKey) => ({ params: { path: { kind, id } } });

/** Add a member, or change its role and patterns. */
export const useSaveMember = () =>
  useMemberChange(({ kind, id, ...body }: MemberKey & Schemas['MemberBody']) =>
    unwrap(api.PUT('/members/{kind}/{id}', { ...pathParams({ kind, id }), body })),
  );

export const useRemoveMember = (member: MemberKey) =>
  useMemberChange(() => unwrap(api.DELETE('/members/{kind}/{id}', pathParams(member))));

/** Add a grant, or replace the one of the member with the same pattern. */
export const useSaveGrant = () =>
  useMemberChange((body: Schemas['GrantBody']) => unwrap(api.POST('/grants', { body })));

export const useRemoveGrant = (id: string) =>
  useMemberChange(() => unwrap(api.DELETE('/grants/{id}', { params: { path: { id } } })));
