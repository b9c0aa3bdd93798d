import type { ReactNode } from 'react';
import css from './components.module.css';

/** Labels with their values, beside each other where they fit. */
export function Facts({ facts, children }: { facts: [string, ReactNode][]; children?: ReactNode }) {
  return (
    <dl className={css.facts}>
      {facts.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
      {children}
    </dl>
  );
}
