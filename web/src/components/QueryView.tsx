import type { ReactNode } from 'react';
import { isUnreachable } from '~/api/problem';
import { ErrorNotice } from './ErrorNotice';
import { Loading } from './Loading';

/** The part of a query that is needed to show its data, its error or its progress. */
export interface QueryState<T> {
  data: T | undefined;
  error: unknown;
  refetch: () => unknown;
}

interface Props<T> {
  query: QueryState<T>;
  children: (data: T) => ReactNode;
}

/** Render the data of a query. If a refetch fails, show the error above the previous data. */
export function QueryView<T>({ query, children }: Props<T>) {
  const error = query.error ? <ErrorNotice error={query.error} onRetry={() => query.refetch()} /> : null;
  if (query.data === undefined) return error && !isUnreachable(query.error) ? error : <Loading />;
  return (
    <>
      {error}
      {children(query.data)}
    </>
  );
}
