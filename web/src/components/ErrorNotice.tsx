import { Button } from '@mantine/core';
import { errorMessage, isUnreachable } from '~/api/problem';
import { useMessages } from '~/i18n';
import { InlineMarkdown } from './InlineMarkdown';
import { Notice } from './Notice';

/** A failed request, with a retry button if the caller can retry it. Requests are retried once the server is back. */
export function ErrorNotice({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const messages = useMessages();
  if (isUnreachable(error) && onRetry) return null;
  const retryButton = onRetry && (
    <Button size="compact-sm" variant="default" onClick={onRetry}>
      {messages.common.retry}
    </Button>
  );
  return (
    <Notice tone="danger" action={retryButton}>
      <strong>{messages.errors.requestFailed}</strong>{' '}
      <InlineMarkdown text={isUnreachable(error) ? messages.errors.unreachable : errorMessage(error)} />
    </Notice>
  );
}
