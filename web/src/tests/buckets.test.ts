import { expect, test } from 'vitest';
import { bucketCalls } from '~/screens/stats/buckets';

test('every call of the period is in a bucket', () => {
  const now = 1_700_000_000;
  const hours = [
    { at: now - 3 * 3600 - (now % 3600), calls: 5, failed: 2 },
    { at: now - 400 * 86_400, calls: 1, failed: 0 },
  ];
  const total = (period: string) =>
    bucketCalls(hours, period, now).reduce((sum, { succeeded, failed }) => sum + succeeded + failed, 0);
  expect([total('day'), total('week'), total('all')]).toEqual([5, 5, 6]);
});
