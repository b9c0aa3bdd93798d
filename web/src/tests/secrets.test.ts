import { expect, test } from 'vitest';
import { toHosts } from '~/screens/secrets/toHosts';

test('without hosts, only a secret of the workspace may be sent anywhere', () => {
  expect(toHosts('workspace', [], null)).toBeNull();
  expect(toHosts('workspace', ['a.example'], null)).toEqual(['a.example']);
  expect(toHosts('me', [], null)).toEqual([]);
});

test('a secret that was for no host is not opened to all by a new value', () => {
  expect(toHosts('workspace', [], [])).toEqual([]);
});
