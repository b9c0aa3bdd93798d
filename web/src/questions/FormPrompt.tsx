import { Button } from '@mantine/core';
import { lazy, Suspense, useId, useState } from 'react';
import { Loading } from '~/components/Loading';
import { useMessages } from '~/i18n';
import { initialAnswer } from './initialAnswer';
import type { PromptProps } from './promptProps';
import { ServerPrompt } from './ServerPrompt';

const SchemaForm = lazy(() => import('~/forms/SchemaForm'));

/** A form that a server asks the user to fill in. */
export function FormPrompt(props: PromptProps) {
  const { question, isSending, onAnswer } = props;
  const messages = useMessages();
  const id = useId();
  const [content, setContent] = useState(() => initialAnswer(question.schema));
  const sendButton = (
    <Button size="compact-sm" type="submit" form={id} loading={isSending}>
      {messages.questions.send}
    </Button>
  );
  // The buttons appear together with the form, because the one that sends it needs it.
  return (
    <Suspense fallback={<Loading />}>
      <ServerPrompt {...props} acceptButton={sendButton}>
        <SchemaForm
          id={id}
          schema={question.schema}
          value={content}
          disabled={isSending}
          emptyText={messages.questions.noFields}
          onChange={setContent}
          onSubmit={() => onAnswer({ action: 'accept', content: content as never })}
        />
      </ServerPrompt>
    </Suspense>
  );
}
