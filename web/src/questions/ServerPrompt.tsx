import { Button, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { useMessages } from '~/i18n';
import type { PromptProps } from './promptProps';
import css from './questions.module.css';

interface Props extends PromptProps {
  children?: ReactNode;
  /** The button that accepts. */
  acceptButton?: ReactNode;
}

/** A question of a server: its name, what it says, and the buttons to decline and to cancel. */
export function ServerPrompt({ question, isSending, onAnswer, children, acceptButton }: Props) {
  const messages = useMessages();
  const title = messages.questions.title(question.server);
  return (
    <fieldset className={css.prompt} aria-label={title}>
      <strong>{title}</strong>
      <p className={css.message}>{question.message}</p>
      {children}
      <Group gap={8}>
        {acceptButton}
        <Button
          size="compact-sm"
          variant="default"
          disabled={isSending}
          title={messages.questions.declineHint}
          onClick={() => onAnswer({ action: 'decline' })}
        >
          {messages.questions.decline}
        </Button>
        <Button
          size="compact-sm"
          variant="subtle"
          disabled={isSending}
          title={messages.questions.cancelHint}
          onClick={() => onAnswer({ action: 'cancel' })}
        >
          {messages.common.cancel}
        </Button>
      </Group>
    </fieldset>
  );
}
