import type { Decision } from '~/api/chat';
import { Markdown } from '~/components/Markdown';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import { CallChip } from './CallChip';
import css from './chat.module.css';
import type { Entry } from './entries';

interface Props {
  entry: Entry;
  onDecide: (approval: string, decision: Decision) => void;
}

export function ChatEntry({ entry, onDecide }: Props) {
  const messages = useMessages();
  switch (entry.kind) {
    case 'user':
      return (
        <article className={css.userMessage} aria-label={messages.chat.userLabel}>
          <Markdown text={entry.text} />
        </article>
      );
    case 'assistant':
      return (
        <article className={css.modelMessage} aria-label={messages.chat.modelLabel}>
          <Markdown text={entry.text} />
        </article>
      );
    case 'call':
      return <CallChip call={entry.call} onDecide={onDecide} />;
    case 'error':
      return <Notice tone="danger">{entry.text}</Notice>;
  }
}
