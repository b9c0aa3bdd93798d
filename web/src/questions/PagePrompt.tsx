import { Button } from '@mantine/core';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import { pageHost } from './pageHost';
import type { PromptProps } from './promptProps';
import css from './questions.module.css';
import { ServerPrompt } from './ServerPrompt';

/** A page that a server asks the user to open. It opens only if the user follows the link. */
export function PagePrompt(props: PromptProps) {
  const { question, isSending, onAnswer } = props;
  const messages = useMessages();
  const host = pageHost(question.url);
  const doneButton = host && (
    <Button size="compact-sm" loading={isSending} onClick={() => onAnswer({ action: 'accept' })}>
      {messages.questions.pageOpened}
    </Button>
  );
  return (
    <ServerPrompt {...props} acceptButton={doneButton}>
      {host ? (
        <p className={css.page}>
          {messages.questions.pageHost} <strong>{host}</strong>
          <a href={question.url} target="_blank" rel="noopener noreferrer">
            {question.url}
          </a>
        </p>
      ) : (
        <Notice tone="warning">
          {messages.questions.invalidPage} <code className={css.address}>{question.url}</code>
        </Notice>
      )}
    </ServerPrompt>
  );
}
