import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { afterEach, describe, expect, it } from 'vitest';
import { reload } from '~/api/changes';

const queries = new QueryClient();
afterEach(() => queries.clear());

/** Observe a query whose requests end when the test says so. */
function observe(queryKey: string[]) {
  const requests: ((value: string) => void)[] = [];
  const queryFn = () => new Promise<string>((resolve) => requests.push(resolve));
  const observer = new QueryObserver(queries, { queryKey, queryFn });
  const unsubscribe = observer.subscribe(() => {});
  return { requests, observer, unsubscribe };
}

describe('reload', () => {
  it('does not show what was requested before the change, even if that is the first request', async () => {
    const { requests, observer, unsubscribe } = observe(['servers', 'time', 'details']);
    expect(requests).toHaveLength(1);
    const reloaded = reload(queries, ['servers']);
    await expect.poll(() => requests.length).toBe(2);
    requests[0]?.('before');
    requests[1]?.('after');
    await reloaded;
    expect(observer.getCurrentResult().data).toBe('after');
    unsubscribe();
  });

  it('reloads only the given queries, or all', async () => {
    const [servers, tools] = [observe(['servers']), observe(['tools'])];
    for (const { requests } of [servers, tools]) requests[0]?.('before');
    await expect.poll(() => tools.observer.getCurrentResult().data).toBe('before');
    void reload(queries, ['servers']);
    await expect.poll(() => servers.requests.length).toBe(2);
    expect(tools.requests).toHaveLength(1);
    void reload(queries);
    await expect.poll(() => tools.requests.length).toBe(2);
    for (const { unsubscribe } of [servers, tools]) unsubscribe();
  });
});
