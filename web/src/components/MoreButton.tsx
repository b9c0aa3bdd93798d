import { Button } from '@mantine/core';
import { useMessages } from '~/i18n';

export interface PagedQuery {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => unknown;
}

/** Load the next page of a list, if there is one. */
export function MoreButton({ query, label }: { query: PagedQuery; label?: string }) {
  const messages = useMessages();
  if (!query.hasNextPage) return null;
  return (
    <Button
      mt="md"
      fullWidth
      variant="default"
      loading={query.isFetchingNextPage}
      onClick={() => query.fetchNextPage()}
    >
      {label ?? messages.resources.more}
    </Button>
  );
}
