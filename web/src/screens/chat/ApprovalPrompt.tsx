import { Button, Group } from '@mantine/core';
import { useState } from 'react';
import { type Decision, fetchQuestion } from '~/api/chat';
import { errorMessage } from '~/api/problem';
import { useMessages } from '~/i18n';
import css from './chat.module.css';
import type { Approval } from './entries';

interface Props {
  approval: Approval;
  tool: string;
  onDecide: (approval: string, decision: Decision) => void;
}

/** Asks whether the model may run a tool. Shows every argument exactly as the server rendered it. */
export function ApprovalPrompt({ approval, tool, onDecide }: Props) {
  const messages = useMessages();
  const [shown, setShown] = useState(approval.arguments);
  const [error, setError] = useState('');
  const title = messages.chat.approvalTitle(tool);
  const hasMore = shown.some(({ hidden }) => hidden > 0);

  const showEverything = async () => {
    try {
      setShown((await fetchQuestion(approval.id)).arguments);
    } catch (problem) {
      setError(errorMessage(problem));
    }
  };

  return (
    <fieldset className={css.approval} aria-label={title}>
      <span>
        <strong>{title}</strong> <span className={css.muted}>{messages.chat.approvalHint}</span>
      </span>
      {shown.length > 0 && (
        <ul className={css.approvalArguments} aria-label={messages.chat.args}>
          {shown.map(({ name, value, hidden }, index) => (
            // The key is the position, because shortened names can be equal.
            <li key={index}>
              <code>
                {name}
                {hidden > 0 && <em> {messages.chat.hiddenCharacters(hidden)}</em>}: {value}
              </code>
            </li>
          ))}
        </ul>
      )}
      <span className={css.muted}>
        {messages.chat.digest} <code>{approval.digest.slice(0, 16)}</code> {error}
      </span>
      <Group gap={8}>
        <Button size="compact-sm" onClick={() => onDecide(approval.id, 'approve')}>
          {messages.chat.run}
        </Button>
        <Button size="compact-sm" variant="default" onClick={() => onDecide(approval.id, 'deny')}>
          {messages.chat.discard}
        </Button>
        <Button size="compact-sm" variant="default" onClick={() => onDecide(approval.id, 'always')}>
          {messages.chat.alwaysRun}
        </Button>
        {hasMore && (
          <Button size="compact-sm" variant="subtle" onClick={showEverything}>
            {messages.chat.showEverything}
          </Button>
        )}
      </Group>
    </fieldset>
  );
}
