// A call in a conversation: one line, that opens to show what went in and what came out.
import { Button, Group } from '@mantine/core';
import { useState } from 'react';
import type { Decision } from '~/api/chat';
import { written } from '~/api/json';
import { useWords } from '~/i18n';
import { Icon } from '~/parts/Icon';
import { Pre, Tag } from '~/parts/parts';
import { Value } from '~/screens/tester/Result';
import { keywords } from '~/screens/tester/snippets';
import css from './chat.module.css';
import type { CallShown } from './thread';

const MOODS = { running: 'accent', done: 'good', failed: 'bad', discarded: 'plain', allowed: 'accent' } as const;

export function CallChip({ call, onDecide }: { call: CallShown; onDecide?: (approval: string, decision: Decision) => void }) {
  const words = useWords();
  const [isOpen, setOpen] = useState(false);
  const given = typeof call.args === 'object' && call.args !== null ? keywords(call.args as Record<string, unknown>) : String(call.args);
  const state = { running: words.chat.running, done: words.chat.done, failed: words.chat.failed, discarded: words.chat.discarded, allowed: words.chat.allowed }[call.state];
  return (
    <div className={css.chip} data-state={call.state}>
      <button type="button" className={css.chipHead} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name={isOpen ? 'down' : 'right'} size={14} />
        <code>
          {call.name}
          <span className={css.soft}>({given})</span>
        </code>
        <Tag mood={MOODS[call.state]}>{state}</Tag>
        {call.ms !== undefined && <span className={css.soft}>{words.common.ms(call.ms)}</span>}
      </button>
      {call.approval && onDecide && <Approval approval={call.approval} tool={call.name} onDecide={onDecide} />}
      {isOpen && (
        <div className={css.chipBody}>
          <h3>{words.chat.args}</h3>
          <Pre label={words.chat.args}>{typeof call.args === 'string' ? call.args : written(call.args)}</Pre>
          {call.result !== undefined && (
            <>
              <h3>{words.chat.result}</h3>
              <Value value={call.result} />
            </>
          )}
        </div>
      )}
    </div>
  );
}

function Approval({ approval, tool, onDecide }: { approval: string; tool: string; onDecide: (approval: string, decision: Decision) => void }) {
  const words = useWords();
  const say = (decision: Decision) => () => onDecide(approval, decision);
  return (
    <div className={css.approval} role="group" aria-label={words.chat.approval(tool)}>
      <span>
        <strong>{words.chat.approval(tool)}</strong> <span className={css.soft}>{words.chat.approvalHint}</span>
      </span>
      <Group gap={8}>
        <Button size="compact-sm" onClick={say('run')}>
          {words.chat.run}
        </Button>
        <Button size="compact-sm" variant="default" onClick={say('discard')}>
          {words.chat.discard}
        </Button>
        <Button size="compact-sm" variant="default" onClick={say('always')}>
          {words.chat.always}
        </Button>
      </Group>
    </div>
  );
}
