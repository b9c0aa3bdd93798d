import type { ReactNode } from 'react';
import { Card } from '~/components/Card';
import { Tag } from '~/components/Tag';
import css from './resources.module.css';

interface Props {
  /** The URI, the template or the name of a prompt. */
  name: string;
  title?: string | null;
  server: string;
  text?: string | null;
  type?: string | null;
  children: ReactNode;
}

/** A resource, a template or a prompt, with its controls. */
export function EntryCard({ name, title, server, text, type, children }: Props) {
  return (
    <Card>
      <section aria-label={name} className={css.entry}>
        <div className={css.heading}>
          <h2>{title || name}</h2>
          <Tag>{server}</Tag>
          {type && <span className={css.muted}>{type}</span>}
        </div>
        {title && title !== name && <code className={css.name}>{name}</code>}
        {text && <p className={css.muted}>{text}</p>}
        {children}
      </section>
    </Card>
  );
}
