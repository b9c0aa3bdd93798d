import { Loader } from '@mantine/core';
import { useEffect, useRef } from 'react';
import type { Answer, Question } from '~/api/jobs';
import { useMessages } from '~/i18n';
import { ChatEntry } from './ChatEntry';
import css from './chat.module.css';
import { EmptyChat } from './EmptyChat';
import type { Entry } from './entries';

interface Props {
  entries: Entry[];
  isBusy: boolean;
  onAnswered: (question: Question, answer: Answer) => void;
}

export function Thread({ entries, isBusy, onAnswered }: Props) {
  const messages = useMessages();
  const end = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scroll to the end whenever the entries change.
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'nearest' });
  }, [entries]);
  const isAsked = entries.some(
    (entry) => (entry.kind === 'call' && entry.call.approval) || (entry.kind === 'question' && !entry.answer),
  );
  const isThinking = isBusy && entries.at(-1)?.kind !== 'assistant' && !isAsked;
  if (entries.length === 0 && !isBusy) return <EmptyChat />;
  return (
    <div className={css.thread} role="log" aria-label={messages.chat.title} tabIndex={0}>
      {entries.map((entry, index) => (
        <ChatEntry key={index} entry={entry} onAnswered={onAnswered} />
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
