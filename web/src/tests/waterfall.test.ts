import { expect, test } from 'vitest';
import type { ActivityDetails } from '~/api/activity';
import { findRow, layOutCalls } from '~/screens/activity/waterfall';

const call = (id: string, startedAt: number, durationMs: number, calls: ActivityDetails[] = []) =>
  ({ id, startedAt, durationMs, calls }) as ActivityDetails;

test('calls are below their callers in the order of their starts, on a common time axis', () => {
  const nested = call('c', 12, 1000, [call('d', 12.5, 500)]);
  const { rows, totalMs } = layOutCalls(call('a', 10, 4000, [nested, call('b', 11, 2000)]));
  expect(totalMs).toBe(4000);
  expect(rows.map(({ call: { id }, depth, parent, left, width }) => [id, depth, parent, left, width])).toEqual([
    ['a', 0, -1, 0, 100],
    ['b', 1, 0, 25, 50],
    ['c', 1, 0, 50, 25],
    ['d', 2, 2, 62.5, 12.5],
  ]);
});

test('bars stay on the axis if a call ends after its caller, the clock was set back, or nothing took time', () => {
  const { rows, totalMs } = layOutCalls(call('a', 10, 1000, [call('b', 9, 500), call('c', 10.5, 4500)]));
  expect(totalMs).toBe(6000);
  for (const { left, width } of rows) {
    expect(left).toBeGreaterThanOrEqual(0);
    expect(left + width).toBeLessThanOrEqual(100);
  }
  expect(layOutCalls(call('a', 10, 0))).toMatchObject({ rows: [{ left: 0, width: 100 }], totalMs: 0 });
});

test('a thousand calls, each inside the previous one, have a row each', () => {
  let deepest = call('999', 1, 1);
  for (let id = 998; id >= 0; id--) deepest = call(String(id), 1, 1, [deepest]);
  expect(layOutCalls(deepest).rows.map(({ depth }) => depth)).toEqual([...Array(1000).keys()]);
});

test('keys move to neighbours, to the caller and to the first call inside', () => {
  const { rows } = layOutCalls(call('a', 1, 9, [call('b', 2, 1, [call('c', 3, 1)]), call('d', 4, 1)]));
  const from = (index: number) =>
    ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', 'Home', 'End', 'x'].map((key) => findRow(rows, index, key));
  expect(from(0)).toEqual([0, 1, 0, 1, 0, 3, null]);
  expect(from(2)).toEqual([1, 3, 1, 2, 0, 3, null]);
  expect(from(3)).toEqual([2, 3, 0, 3, 0, 3, null]);
});
