import { mayManage, useMe, useMembers } from '~/api/members';

/** Return the names of people and groups by their ids, if the user may see them. */
export function useMemberNames(): ReadonlyMap<string, string> {
  const members = useMembers(mayManage(useMe().data)).data ?? [];
  return new Map(members.filter(({ name }) => name).map(({ id, name }) => [id, name]));
}
