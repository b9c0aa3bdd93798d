import type { ReactNode } from 'react';
import { EmptyAction } from '~/components/EmptyAction';
import { EmptyState } from '~/components/EmptyState';
import { MoreButton, type PagedQuery } from '~/components/MoreButton';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import css from './resources.module.css';

interface Props<T> {
  query: PagedQuery & {
    data: T[] | undefined;
    error: unknown;
    refetch: () => unknown;
  };
  children: (item: T) => ReactNode;
}

/** The entries of a list that were loaded, and a button for more. */
export function EntryList<T>({ query, children }: Props<T>) {
  const messages = useMessages();
  return (
    <QueryView query={query}>
      {(items) => (
        <div className={css.list}>
          {items.length === 0 && (
            <EmptyState title={messages.resources.empty}>
              <p>{messages.emptyStates.resources}</p>
              <EmptyAction href="/servers" label={messages.emptyStates.openServers} />
            </EmptyState>
          )}
          {items.map(children)}
          <MoreButton query={query} />
        </div>
      )}
    </QueryView>
  );
}
