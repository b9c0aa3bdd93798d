import { ActionIcon } from '@mantine/core';
import type { ReactNode } from 'react';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import css from './tester.module.css';

interface Props {
  /** Names the request for screen readers. */
  label: string;
  children: ReactNode;
  /** More buttons. */
  actions?: ReactNode;
  onSelect: () => void;
  onRun: () => void;
}

/** An earlier or saved request: one click fills in the form, another one runs it. */
export function RequestRow({ label, children, actions, onSelect, onRun }: Props) {
  const messages = useMessages();
  return (
    <div className={css.requestRow}>
      <button type="button" className={css.recentCall} title={messages.tester.reuseArgs} onClick={onSelect}>
        {children}
      </button>
      <ActionIcon variant="subtle" aria-label={messages.requests.runAgain(label)} onClick={onRun}>
        <Icon name="play" size={15} />
      </ActionIcon>
      {actions}
    </div>
  );
}
