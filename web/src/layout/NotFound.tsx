import { Link } from 'wouter';
import { EmptyState } from '~/components/EmptyState';
import { useMessages } from '~/i18n';

export function NotFound() {
  const messages = useMessages();
  return (
    <EmptyState title={messages.errors.notFound}>
      <Link href="/tools">{messages.errors.notFoundLink}</Link>
    </EmptyState>
  );
}
