import { Link, useLocation } from 'wouter';
import { type Me, useMe } from '~/api/members';
import { Icon, type IconName } from '~/components/Icon';
import { useMessages } from '~/i18n';
import type { Messages } from '~/i18n/en';
import css from './layout.module.css';

interface PageLink {
  page: keyof Messages['nav'];
  icon: IconName;
  /** The page exists only in workspaces, for users with this right. */
  right?: string;
}

const PAGES: PageLink[] = [
  { page: 'tools', icon: 'tools' },
  { page: 'chat', icon: 'chat' },
  { page: 'playground', icon: 'code' },
  { page: 'resources', icon: 'resources' },
  { page: 'servers', icon: 'servers' },
  { page: 'access', icon: 'access' },
  { page: 'jobs', icon: 'jobs' },
  { page: 'activity', icon: 'activity' },
  { page: 'stats', icon: 'stats' },
  { page: 'members', icon: 'members', right: 'manage' },
  { page: 'keys', icon: 'keys', right: 'call' },
  { page: 'settings', icon: 'settings' },
];

const isShown = ({ right }: PageLink, me: Me | undefined) => !right || (me?.rights.includes(right) ?? false);

export function NavLinks() {
  const messages = useMessages();
  const [location] = useLocation();
  const me = useMe().data;
  return (
    <nav className={css.nav} aria-label={messages.nav.label}>
      {PAGES.filter((link) => isShown(link, me)).map(({ page, icon }) => (
        <Link
          key={page}
          href={`/${page}`}
          className={css.navLink}
          aria-current={location.startsWith(`/${page}`) ? 'page' : undefined}
        >
          <Icon name={icon} size={20} />
          <span>{messages.nav[page]}</span>
        </Link>
      ))}
    </nav>
  );
}
