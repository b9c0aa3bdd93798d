import { useEffect, useRef } from 'react';
import { Link, useLocation } from 'wouter';
import { useMe } from '~/api/members';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import css from './layout.module.css';
import { visiblePages } from './pages';

export function NavLinks() {
  const messages = useMessages();
  const [location] = useLocation();
  const pages = visiblePages(useMe().data);
  const nav = useRef<HTMLElement>(null);
  // On a phone, the links do not all fit. Their number changes when it is known who is logged in.
  // biome-ignore lint/correctness/useExhaustiveDependencies: these are the changes after which another link is current.
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [location, pages.length]);
  return (
    <nav ref={nav} className={css.nav} aria-label={messages.nav.label}>
      {pages.map(({ page, icon }) => (
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
