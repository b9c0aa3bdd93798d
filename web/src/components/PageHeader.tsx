import type { ReactNode } from 'react';
import css from './components.module.css';
import { InlineMarkdown } from './InlineMarkdown';

interface Props {
  title: ReactNode;
  lead?: string;
  /** Buttons next to the title. */
  children?: ReactNode;
}

export function PageHeader({ title, lead, children }: Props) {
  return (
    <header className={css.pageHeader}>
      <div>
        <h1>{title}</h1>
        {lead && (
          <p>
            <InlineMarkdown text={lead} />
          </p>
        )}
      </div>
      {children}
    </header>
  );
}
