import type { ReactNode } from 'react';
import css from './components.module.css';
import { Icon, type IconName } from './Icon';
import { type Tone, toneClass } from './tone';

interface Props {
  children: ReactNode;
  tone?: Tone;
  icon?: IconName;
}

export function Tag({ children, tone = 'neutral', icon }: Props) {
  return (
    <span className={`${css.tag} ${toneClass(tone)}`}>
      {icon && <Icon name={icon} size={13} />}
      {children}
    </span>
  );
}
