// Asks for the tools of an open bundle, page by page, and hands them to the list.
import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { flat, toolsOf } from '~/api/tools';
import type { Held } from './rows';

interface Props {
  id: string;
  tag: string | null;
  showOff: boolean;
  onHeld: (id: string, held: Held) => void;
}

export function BundleLoader({ id, tag, showOff, onHeld }: Props) {
  const asked = useInfiniteQuery({
    queryKey: ['tools', 'bundle', id, tag, showOff],
    queryFn: ({ pageParam }) => toolsOf(id, pageParam, { tags: tag ? [tag] : undefined, includeDisabled: showOff }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextPageToken ?? undefined,
    placeholderData: (before) => before,
  });
  const { data, hasNextPage, isLoading, error, fetchNextPage, refetch } = asked;
  useEffect(() => {
    const loadMore = () => void fetchNextPage({ cancelRefetch: false });
    onHeld(id, { tools: flat(data), hasMore: hasNextPage, isLoading, error, retry: () => void refetch(), loadMore });
  }, [id, data, hasNextPage, isLoading, error, fetchNextPage, refetch, onHeld]);
  return null;
}
