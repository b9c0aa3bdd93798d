import { Button } from '@mantine/core';
import { errorMessage, Problem } from '~/api/problem';
import { useMessages } from '~/i18n';
import { InlineMarkdown } from './InlineMarkdown';
import { Notice } from './Notice';

/** A failed request, with a retry button if the caller can retry it. */
export function ErrorNotice({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const messages = useMessages();
  const isUnreachable = error instanceof Problem && error.status === 0;
  const retryButton = onRetry && (
    <Button size="compact-sm" variant="default" onClick={onRetry}>
      {messages.common.retry}
    </Button>
  );
  return (
    <Notice tone="danger" action={retryButton}>
      <strong>{messages.errors.requestFailed}</strong>{' '}
      <InlineMarkdown text={isUnreachable ? messages.errors.unreachable : errorMessage(error)} />
    </Notice>
  );
}
