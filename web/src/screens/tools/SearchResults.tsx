import { useMemo } from 'react';
import { flattenPages, useToolSearch } from '~/api/tools';
import { EmptyState } from '~/components/EmptyState';
import { ErrorNotice } from '~/components/ErrorNotice';
import { useMessages } from '~/i18n';
import { toolRows } from './rows';
import { ToolList } from './ToolList';

interface Props {
  q: string;
  showDisabled: boolean;
  tag: string | null;
  onTag: (tag: string) => void;
}

export function SearchResults({ q, showDisabled, tag, onTag }: Props) {
  const messages = useMessages();
  const { data, error, fetchNextPage, hasNextPage, refetch } = useToolSearch(q, showDisabled);
  const rows = useMemo(() => {
    const tools = flattenPages(data).filter((tool) => tag === null || tool.tags.includes(tag));
    const results = toolRows(tools);
    if (hasNextPage) results.push({ kind: 'more', key: '+', loadMore: () => void fetchNextPage() });
    return results;
  }, [data, tag, hasNextPage, fetchNextPage]);
  if (error) return <ErrorNotice error={error} onRetry={() => refetch()} />;
  if (data && rows.length === 0) {
    return (
      <EmptyState title={messages.tools.noResultsTitle}>
        <p>
          {messages.tools.noResults(q)} {showDisabled ? '' : messages.tools.disabledHidden}
        </p>
      </EmptyState>
    );
  }
  return <ToolList rows={rows} onTag={onTag} onToggle={() => {}} />;
}
