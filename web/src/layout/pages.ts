// The pages of the sidebar, and who sees them.
import type { Me } from '~/api/members';
import type { IconName } from '~/components/Icon';
import type { Messages } from '~/i18n/en';

interface PageLink {
  page: keyof Messages['nav'];
  icon: IconName;
  /** In a workspace, users with one of these rights see the page. */
  rights: string[];
  /** Whether the page exists only in workspaces. */
  isHosted?: boolean;
}

const PAGES: PageLink[] = [
  { page: 'tools', icon: 'tools', rights: ['read'] },
  { page: 'chat', icon: 'chat', rights: ['call'] },
  { page: 'playground', icon: 'code', rights: ['call'] },
  { page: 'resources', icon: 'resources', rights: ['call'] },
  { page: 'servers', icon: 'servers', rights: ['read'] },
  { page: 'access', icon: 'access', rights: ['read'] },
  { page: 'jobs', icon: 'jobs', rights: ['call'] },
  { page: 'activity', icon: 'activity', rights: ['call', 'see all calls'] },
  { page: 'stats', icon: 'stats', rights: ['read'] },
  { page: 'members', icon: 'members', rights: ['manage'], isHosted: true },
  { page: 'keys', icon: 'keys', rights: ['call'], isHosted: true },
  { page: 'secrets', icon: 'lock', rights: ['call'], isHosted: true },
  { page: 'connections', icon: 'connections', rights: ['call'], isHosted: true },
  { page: 'audit', icon: 'audit', rights: ['audit'], isHosted: true },
  { page: 'settings', icon: 'settings', rights: ['read'] },
];

/** Return the pages that a user may see. Without a user, those of a server with a single one. */
export const visiblePages = (me: Pick<Me, 'rights'> | undefined): PageLink[] =>
  PAGES.filter(({ rights, isHosted }) => (me ? rights.some((right) => me.rights.includes(right)) : !isHosted));

/** Return the first page of a user. */
export const homePath = (me: Pick<Me, 'rights'> | undefined): string => `/${visiblePages(me)[0]?.page ?? 'tools'}`;
