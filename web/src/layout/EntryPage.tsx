import type { ReactNode } from 'react';
import css from './entryPage.module.css';
import { LanguageMenu } from './LanguageMenu';
import { ThemeToggle } from './ThemeToggle';

interface Props {
  title: string;
  lead: string;
  children: ReactNode;
}

/** The frame around pages for people who do not use the workspace yet: login and invitations. */
export function EntryPage({ title, lead, children }: Props) {
  return (
    <main className={css.page}>
      <div className={css.menu}>
        <LanguageMenu />
        <ThemeToggle />
      </div>
      <div className={css.content}>
        <header>
          <img src="/favicon.svg" alt="" width="52" height="52" />
          <h1>{title}</h1>
          <p>{lead}</p>
        </header>
        {children}
      </div>
    </main>
  );
}
