import type { ReactNode } from 'react';
import { Card } from '~/components/Card';
import css from './stats.module.css';

export function Metric({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Card>
      <dt className={css.muted}>{name}</dt>
      <dd className={css.metric}>{children}</dd>
    </Card>
  );
}
