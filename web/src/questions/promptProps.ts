import type { Answer, Question } from '~/api/jobs';

export interface PromptProps {
  question: Question;
  isSending: boolean;
  onAnswer: (answer: Answer) => void;
}
