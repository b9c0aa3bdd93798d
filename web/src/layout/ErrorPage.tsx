import { Button } from '@mantine/core';
import { EmptyState } from '~/components/EmptyState';
import { useMessages } from '~/i18n';

export function ErrorPage() {
  const messages = useMessages();
  return (
    <EmptyState title={messages.errors.pageTitle} icon="alert">
      <p>{messages.errors.pageHint}</p>
      <Button onClick={() => location.reload()}>{messages.errors.reload}</Button>
    </EmptyState>
  );
}
