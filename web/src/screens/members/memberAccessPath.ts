import type { Member } from '~/api/members';

/** The page with what a person or service may call. */
export const memberAccessPath = ({ kind, id }: Pick<Member, 'kind' | 'id'>): string =>
  `/members/${kind}/${encodeURIComponent(id)}/access`;
