import { useState } from 'react';
import type { Decision } from '~/api/chat';
import { stringify } from '~/api/json';
import { CodeBlock } from '~/components/CodeBlock';
import { Icon } from '~/components/Icon';
import { Tag } from '~/components/Tag';
import { useMessages } from '~/i18n';
import { formatKeywords } from '~/screens/tester/snippets';
import { ValueView } from '~/screens/tester/ValueView';
import { ApprovalPrompt } from './ApprovalPrompt';
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
  onDecide?: (approval: string, decision: Decision) => void;
}

/** A tool call on one line, which expands to its arguments and result. */
export function CallChip({ call, onDecide }: Props) {
  const messages = useMessages();
  const [isExpanded, setExpanded] = useState(false);
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
        <code>
          {call.name}
          <span className={css.muted}>({signature})</span>
        </code>
        <Tag tone={TONES[call.state]}>{messages.chat.callState[call.state]}</Tag>
        {call.ms !== undefined && <span className={css.muted}>{messages.common.duration(call.ms)}</span>}
      </button>
      {call.approval && onDecide && <ApprovalPrompt approval={call.approval} tool={call.name} onDecide={onDecide} />}
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
