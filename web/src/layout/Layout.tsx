import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { WORKSPACE } from '~/api/workspace';
import { useMessages } from '~/i18n';
import { CommandButton } from './CommandButton';
import { Identity } from './Identity';
import css from './layout.module.css';
import { NavLinks } from './NavLinks';
import { UserMenu } from './UserMenu';
import { WorkspaceMenu } from './WorkspaceMenu';

/** The frame around every page: sidebar and content. */
export function Layout({ children }: { children: ReactNode }) {
  const messages = useMessages();
  return (
    <div className={css.layout}>
      <a className={css.skipLink} href="#content">
        {messages.nav.skipLink}
      </a>
      <aside className={css.sidebar}>
        <Link href="/tools" className={css.brand}>
          <img src="/favicon.svg" alt="" width="28" height="28" />{' '}
          <span className={WORKSPACE ? css.brandName : undefined}>OneTool</span>
        </Link>
        <WorkspaceMenu />
        <CommandButton />
        <NavLinks />
        <Identity />
        <UserMenu />
      </aside>
      <main id="content" className={css.content} tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}
