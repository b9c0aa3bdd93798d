import { useState } from 'react';
import { type Answer, type Question, submitAnswer } from '~/api/jobs';
import { errorMessage } from '~/api/problem';
import { Notice } from '~/components/Notice';
import { ApprovalPrompt } from './ApprovalPrompt';
import { FormPrompt } from './FormPrompt';
import { OtherPrompt } from './OtherPrompt';
import { PagePrompt } from './PagePrompt';
import css from './questions.module.css';

interface Props {
  question: Question;
  /** Whether the user can approve all calls of a tool, as in a chat. */
  canApproveAlways?: boolean;
  /** Called after the server has accepted the answer. */
  onAnswered: (answer: Answer) => void;
}

/** Asks the user a question of a call, and sends the answer. */
export function QuestionPrompt({ question, canApproveAlways = false, onAnswered }: Props) {
  const [error, setError] = useState('');
  const [isSending, setSending] = useState(false);
  const answer = async (given: Answer) => {
    setSending(true);
    setError('');
    try {
      await submitAnswer(question, given);
      onAnswered(given);
    } catch (problem) {
      setError(errorMessage(problem));
    } finally {
      setSending(false);
    }
  };
  const props = { question, isSending, onAnswer: (given: Answer) => void answer(given) };
  return (
    <div className={css.question}>
      {question.kind === 'approval' && <ApprovalPrompt {...props} canApproveAlways={canApproveAlways} />}
      {question.kind === 'form' && <FormPrompt {...props} />}
      {question.kind === 'url' && <PagePrompt {...props} />}
      {(question.kind === 'sampling' || question.kind === 'roots') && <OtherPrompt {...props} />}
      {error && <Notice tone="danger">{error}</Notice>}
    </div>
  );
}
