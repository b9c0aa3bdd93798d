import type { ReactNode } from 'react';
import css from './components.module.css';
import { Icon } from './Icon';
import { type Tone, toneClass } from './tone';

interface Props {
  children: ReactNode;
  tone?: Tone;
  action?: ReactNode;
}

/** A highlighted message. Screen readers announce errors. */
export function Notice({ children, tone = 'neutral', action }: Props) {
  return (
    <div className={`${css.notice} ${toneClass(tone)}`} role={tone === 'danger' ? 'alert' : undefined}>
      {tone !== 'neutral' && <Icon name={tone === 'success' ? 'check' : 'alert'} />}
      <div>{children}</div>
      {action}
    </div>
  );
}
