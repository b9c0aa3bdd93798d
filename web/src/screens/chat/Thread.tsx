import { Loader } from '@mantine/core';
import { useEffect, useRef } from 'react';
import type { Decision } from '~/api/chat';
import { useMessages } from '~/i18n';
import { ChatEntry } from './ChatEntry';
import css from './chat.module.css';
import { EmptyChat } from './EmptyChat';
import type { Entry } from './entries';

interface Props {
  entries: Entry[];
  isBusy: boolean;
  onDecide: (approval: string, decision: Decision) => void;
}

export function Thread({ entries, isBusy, onDecide }: Props) {
  const messages = useMessages();
  const end = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scroll to the end whenever the entries change.
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'nearest' });
  }, [entries]);
  const needsApproval = entries.some((entry) => entry.kind === 'call' && entry.call.approval);
  const isThinking = isBusy && entries.at(-1)?.kind !== 'assistant' && !needsApproval;
  if (entries.length === 0 && !isBusy) return <EmptyChat />;
  return (
    <div className={css.thread} role="log" aria-label={messages.chat.title} tabIndex={0}>
      {entries.map((entry, index) => (
        <ChatEntry key={index} entry={entry} onDecide={onDecide} />
      ))}
      {isThinking && (
        <p className={css.muted}>
          <Loader size="xs" /> {messages.chat.thinking}
        </p>
      )}
      <div ref={end} />
    </div>
  );
}
