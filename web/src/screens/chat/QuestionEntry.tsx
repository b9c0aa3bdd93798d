import type { Answer, Question } from '~/api/jobs';
import { useMessages } from '~/i18n';
import { QuestionPrompt } from '~/questions/QuestionPrompt';
import css from './chat.module.css';

interface Props {
  question: Question;
  answer: Answer['action'] | undefined;
  onAnswered: (question: Question, answer: Answer) => void;
}

/** A question of a server, or one line that says how it was answered. */
export function QuestionEntry({ question, answer, onAnswered }: Props) {
  const messages = useMessages();
  if (answer) return <p className={css.muted}>{messages.questions.answered[answer](question.server)}</p>;
  return <QuestionPrompt question={question} onAnswered={(given) => onAnswered(question, given)} />;
}
