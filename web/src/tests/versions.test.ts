import { expect, test } from 'vitest';
import { nextVersion } from '~/screens/tool-editor/versions';

test('the next version is the first free number', () => {
  expect(nextVersion([])).toBe('v1');
  expect(nextVersion(['v1', '2026'])).toBe('v2');
  expect(nextVersion(['v2', 'v1'])).toBe('v3');
});
