import type { Answer, Question } from '~/api/jobs';
import { Markdown } from '~/components/Markdown';
import { MediaParts } from '~/components/MediaParts';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import { CallChip } from './CallChip';
import css from './chat.module.css';
import type { Entry } from './entries';
import { FileList } from './FileList';
import { QuestionEntry } from './QuestionEntry';

interface Props {
  entry: Entry;
  onAnswered: (question: Question, answer: Answer) => void;
}

export function ChatEntry({ entry, onAnswered }: Props) {
  const messages = useMessages();
  switch (entry.kind) {
    case 'user':
      return (
        <article className={css.userMessage} aria-label={messages.chat.userLabel}>
          <Markdown text={entry.text} />
          <FileList files={entry.files ?? []} />
          <MediaParts parts={entry.media ?? []} />
        </article>
      );
    case 'assistant':
      return (
        <article className={css.modelMessage} aria-label={messages.chat.modelLabel}>
          <Markdown text={entry.text} />
        </article>
      );
    case 'call':
      return <CallChip call={entry.call} onAnswered={onAnswered} />;
    case 'question':
      return <QuestionEntry question={entry.question} answer={entry.answer} onAnswered={onAnswered} />;
    case 'error':
      return <Notice tone="danger">{entry.text}</Notice>;
  }
}
