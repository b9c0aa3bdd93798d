import { Link, useLocation } from 'wouter';
import { Icon, type IconName } from '~/components/Icon';
import { useMessages } from '~/i18n';
import type { Messages } from '~/i18n/en';
import css from './layout.module.css';

const PAGES: [keyof Messages['nav'], IconName][] = [
  ['tools', 'tools'],
  ['chat', 'chat'],
  ['playground', 'code'],
  ['resources', 'resources'],
  ['servers', 'servers'],
  ['access', 'access'],
  ['jobs', 'jobs'],
  ['activity', 'activity'],
  ['stats', 'stats'],
  ['settings', 'settings'],
];

export function NavLinks() {
  const messages = useMessages();
  const [location] = useLocation();
  return (
    <nav className={css.nav} aria-label={messages.nav.label}>
      {PAGES.map(([page, icon]) => (
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
