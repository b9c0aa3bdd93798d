import { useState } from 'react';
import type { Answer, Question } from '~/api/jobs';
import { stringify } from '~/api/json';
import { CodeBlock } from '~/components/CodeBlock';
import { Icon } from '~/components/Icon';
import { MediaParts } from '~/components/MediaParts';
import { Tag } from '~/components/Tag';
import { ToolName } from '~/components/ToolName';
import { useMessages } from '~/i18n';
import { QuestionPrompt } from '~/questions/QuestionPrompt';
import { formatKeywords } from '~/screens/tester/snippets';
import { ValueView } from '~/screens/tester/ValueView';
import css from './chat.module.css';
import type { ToolCallView } from './entries';

const TONES = {
  running: 'accent',
  done: 'success',
  failed: 'danger',
  discarded: 'neutral',
  approved: 'accent',
} as const;

interface Props {
  call: ToolCallView;
  onAnswered?: (question: Question, answer: Answer) => void;
}

/** A tool call on one line, which expands to its arguments and result. Media are always shown. */
export function CallChip({ call, onAnswered }: Props) {
  const messages = useMessages();
  const [isExpanded, setExpanded] = useState(false);
  const { approval } = call;
  const isObject = typeof call.args === 'object' && call.args !== null;
  const signature = isObject ? formatKeywords(call.args as Record<string, unknown>) : String(call.args);
  return (
    <div className={css.chip} data-state={call.state}>
      <button
        type="button"
        className={css.chipHeader}
        aria-expanded={isExpanded}
        onClick={() => setExpanded(!isExpanded)}
      >
        <Icon name={isExpanded ? 'down' : 'right'} size={14} />
        <ToolName name={call.name} args={signature} className={css.chipName} />
        <Tag tone={TONES[call.state]}>{messages.chat.callState[call.state]}</Tag>
        {call.ms !== undefined && <span className={css.muted}>{messages.common.duration(call.ms)}</span>}
      </button>
      {approval && onAnswered && (
        <div className={css.chipQuestion}>
          <QuestionPrompt question={approval} canApproveAlways onAnswered={(answer) => onAnswered(approval, answer)} />
        </div>
      )}
      {call.media !== undefined && call.media.length > 0 && (
        <div className={css.chipMedia}>
          <MediaParts parts={call.media} />
        </div>
      )}
      {isExpanded && (
        <div className={css.chipBody}>
          <h3>{messages.chat.args}</h3>
          <CodeBlock label={messages.chat.args}>
            {typeof call.args === 'string' ? call.args : stringify(call.args)}
          </CodeBlock>
          {call.result !== undefined && (
            <>
              <h3>{messages.chat.result}</h3>
              <ValueView value={call.result} />
            </>
          )}
        </div>
      )}
    </div>
  );
}
