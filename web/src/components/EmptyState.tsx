import type { ReactNode } from 'react';
import css from './components.module.css';
import { Icon, type IconName } from './Icon';

interface Props {
  title: string;
  icon?: IconName;
  children?: ReactNode;
}

export function EmptyState({ title, icon = 'search', children }: Props) {
  return (
    <div className={css.emptyState}>
      <Icon name={icon} size={28} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}
