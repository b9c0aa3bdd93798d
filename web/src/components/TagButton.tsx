import type { ReactNode } from 'react';
import css from './components.module.css';

interface Props {
  children: ReactNode;
  label: string;
  pressed?: boolean;
  onClick: () => void;
}

export function TagButton({ children, label, pressed, onClick }: Props) {
  return (
    <button
      type="button"
      className={`${css.tag} ${pressed ? css.accent : ''}`}
      aria-label={label}
      aria-pressed={pressed}
      onClick={onClick}
    >
      {children}
    </button>
  );
}
