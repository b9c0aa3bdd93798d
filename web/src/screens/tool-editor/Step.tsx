import type { ReactNode } from 'react';
import { Card } from '~/components/Card';
import css from './toolEditor.module.css';

export function Step({ number, title, children }: { number: number; title: string; children: ReactNode }) {
  return (
    <Card>
      <section className={css.step} aria-label={title}>
        <h2>
          <span className={css.number}>{number}</span> {title}
        </h2>
        {children}
      </section>
    </Card>
  );
}
