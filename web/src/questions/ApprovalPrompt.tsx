import { Button, Group } from '@mantine/core';
import { useState } from 'react';
import { fetchApproval } from '~/api/jobs';
import { errorMessage } from '~/api/problem';
import { ToolName } from '~/components/ToolName';
import { useMessages } from '~/i18n';
import type { PromptProps } from './promptProps';
import css from './questions.module.css';

interface Props extends PromptProps {
  canApproveAlways: boolean;
}

/** Asks whether the model may run a tool. Shows every argument exactly as the server rendered it. */
export function ApprovalPrompt({ question, isSending, canApproveAlways, onAnswer }: Props) {
  const messages = useMessages();
  const [shown, setShown] = useState(question.approval?.arguments ?? []);
  const [error, setError] = useState('');
  const tool = question.approval?.tool ?? '';
  const [before, after] = messages.chat.approvalTitle;
  const decide = (allow: boolean, always = {}) => onAnswer({ action: 'accept', content: { allow, ...always } });
  const hasMore = shown.some(({ hidden }) => hidden > 0);

  const showEverything = async () => {
    try {
      setShown((await fetchApproval(question)).arguments);
    } catch (problem) {
      setError(errorMessage(problem));
    }
  };

  return (
    <fieldset className={css.approval} aria-label={`${before}${tool}${after}`}>
      <span>
        <strong>
          {before}
          <ToolName name={tool} />
          {after}
        </strong>{' '}
        <span className={css.muted}>
          {canApproveAlways ? messages.chat.approvalHint : messages.chat.approvalShortHint}
        </span>
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
        {messages.chat.digest} <code>{(question.approval?.digest ?? '').slice(0, 16)}</code> {error}
      </span>
      <Group gap={8}>
        <Button size="compact-sm" disabled={isSending} onClick={() => decide(true)}>
          {messages.chat.run}
        </Button>
        <Button size="compact-sm" variant="default" disabled={isSending} onClick={() => decide(false)}>
          {messages.chat.discard}
        </Button>
        {canApproveAlways && (
          <Button
            size="compact-sm"
            variant="default"
            disabled={isSending}
            onClick={() => decide(true, { always: true })}
          >
            {messages.chat.alwaysRun}
          </Button>
        )}
        {hasMore && (
          <Button size="compact-sm" variant="subtle" onClick={showEverything}>
            {messages.chat.showEverything}
          </Button>
        )}
      </Group>
    </fieldset>
  );
}
