// Changes: mutations after which everything that they may have changed is loaded again.
import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query';

/** Load queries again, by the first parts of their keys, or all of them. */
export async function reload(queries: QueryClient, keys?: readonly string[]): Promise<void> {
  const filters = keys?.map((key) => ({ queryKey: [key] })) ?? [{}];
  // Requests that began before the change would return outdated data. The first one of a query would not be repeated.
  await Promise.all(filters.map((filter) => queries.cancelQueries(filter)));
  await Promise.all(filters.map((filter) => queries.invalidateQueries(filter)));
}

/** Create a mutation that reloads queries afterwards, see `reload`. Its arguments and its response may be secret, so they are not cached. */
export function useChange<Args, Result>(mutationFn: (args: Args) => Promise<Result>, keys?: readonly string[]) {
  const queries = useQueryClient();
  return useMutation({ mutationFn, gcTime: 0, onSettled: () => reload(queries, keys) });
}
