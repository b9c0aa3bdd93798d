import { expect, test } from 'vitest';
import {
  addRequest,
  isSavedList,
  MAX_SAVED,
  readStored,
  withoutSecrets,
  writeStored,
} from '~/screens/tester/storedArgs';

function memoryStorage(): Storage {
  const values = new Map<string, string>();
  return {
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
    removeItem: (key: string) => void values.delete(key),
  } as unknown as Storage;
}

test('arguments for secrets are never stored', () => {
  const schema = { properties: { pin: { format: 'password' }, once: { writeOnly: true }, city: {} } };
  const args = { city: 'Oslo', pin: '1', once: '2', api_key: '3', accessToken: '4' };
  expect(withoutSecrets(args, schema)).toEqual({ city: 'Oslo' });
});

test('a request replaces the one of the same name, and the number is limited', () => {
  const many = Array.from({ length: MAX_SAVED }, (_, n) => ({ name: `r${n}`, args: {} }));
  const changed = addRequest(many, { name: 'r3', args: { a: 1 } });
  expect(changed).toHaveLength(MAX_SAVED);
  expect(changed[0]).toEqual({ name: 'r3', args: { a: 1 } });
});

test('what is stored is read again, other content is ignored, and large content is rejected', () => {
  const storage = memoryStorage();
  expect(writeStored(storage, 'k', [{ name: 'a', args: { b: 1 } }])).toBe(true);
  expect(readStored(storage, 'k', isSavedList)).toEqual([{ name: 'a', args: { b: 1 } }]);
  storage.setItem('k', '[{"name": 1}]');
  expect(readStored(storage, 'k', isSavedList)).toBeUndefined();
  storage.setItem('k', '{');
  expect(readStored(storage, 'k', isSavedList)).toBeUndefined();
  expect(writeStored(storage, 'k', [{ name: 'a', args: { b: 'x'.repeat(200_000) } }])).toBe(false);
});
