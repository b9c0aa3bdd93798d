import type { ReactNode } from 'react';
import css from './components.module.css';

export function Card({ children, className = '' }: { children: ReactNode; className?: string }) {
  return <div className={`${css.card} ${className}`}>{children}</div>;
}
