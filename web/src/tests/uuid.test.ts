import { expect, test } from 'vitest';
import { uuid7 } from '~/api/uuid';

test('ids have version 7', () => {
  expect(uuid7()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test('ids start with the time', () => {
  expect(uuid7(0x0123456789ab)).toMatch(/^01234567-89ab-7/);
  expect(uuid7(1) < uuid7(1_000_000)).toBe(true);
});
