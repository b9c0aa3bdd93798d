import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { fetchBundleTools, flattenPages, nextPageToken } from '~/api/tools';
import type { LoadedBundle } from './rows';

interface Props {
  id: string;
  tag: string | null;
  showDisabled: boolean;
  onLoaded: (id: string, bundle: LoadedBundle) => void;
}

/** Loads the tools of an expanded bundle page by page. Renders nothing. */
export function BundleLoader({ id, tag, showDisabled, onLoaded }: Props) {
  const { data, hasNextPage, isLoading, error, fetchNextPage, refetch } = useInfiniteQuery({
    queryKey: ['tools', 'bundle', id, tag, showDisabled],
    queryFn: ({ pageParam }) =>
      fetchBundleTools(id, pageParam, { tags: tag ? [tag] : undefined, includeDisabled: showDisabled }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextPageToken,
    placeholderData: (previous) => previous,
  });
  useEffect(() => {
    onLoaded(id, {
      tools: flattenPages(data),
      hasMore: hasNextPage,
      isLoading,
      error,
      retry: () => void refetch(),
      loadMore: () => void fetchNextPage({ cancelRefetch: false }),
    });
  }, [id, data, hasNextPage, isLoading, error, fetchNextPage, refetch, onLoaded]);
  return null;
}
