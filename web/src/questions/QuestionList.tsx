import type { Question } from '~/api/jobs';
import { QuestionPrompt } from './QuestionPrompt';
import css from './questions.module.css';

interface Props {
  questions: Question[];
  onAnswered: (id: string) => void;
}

/** The open questions of a call. */
export function QuestionList({ questions, onAnswered }: Props) {
  return (
    <div className={css.list}>
      {questions.map((question) => (
        <QuestionPrompt key={question.id} question={question} onAnswered={() => onAnswered(question.id)} />
      ))}
    </div>
  );
}
