import { expect, test } from 'vitest';
import type { Setting } from '~/api/settings';
import { toFields, toProfile } from '~/screens/settings/profiles';
import { listRules } from '~/screens/settings/rules';
import { fieldKind, toText, toValue } from '~/screens/settings/settingText';

const setting = (key: string, stored: unknown, value: unknown = stored) => ({ key, stored, value }) as Setting;

test('a value that is not changed is saved as it was', () => {
  expect(toValue('lines', toText('lines', ['a.*', 'b c']), false)).toEqual(['a.*', 'b c']);
  expect(toValue('number', toText('number', 1.5), false)).toBe(1.5);
  expect(toValue('json', toText('json', { a: [1, null] }), false)).toEqual({ a: [1, null] });
  expect(toValue('text', toText('text', ' x: [y '), false)).toBe(' x: [y ');
});

test('an empty field is null only if the setting allows it', () => {
  expect(toValue('text', '', true)).toBeNull();
  expect(toValue('text', '', false)).toBe('');
  expect(() => toValue('number', '', false)).toThrow('notNumber');
  expect(() => toValue('json', '{', false)).toThrow('notJson');
});

test('a nullable boolean is no switch, because that has only two states', () => {
  expect(fieldKind({ type: 'boolean', items: null, nullable: true })).toBe('json');
  expect(fieldKind({ type: 'boolean', items: null, nullable: false })).toBe('switch');
});

test('a profile keeps what the form does not show, and has no defaults', () => {
  const before = { packs: ['a'], unknown: 1, approval: { mode: 'deny', allow: ['x'] } };
  expect(toProfile(toFields(before), before)).toEqual(before);
  const fields = { ...toFields(before), packs: '', mode: 'allow', allow: '' };
  expect(toProfile(fields, before)).toEqual({ unknown: 1 });
});

test('rules of the project are listed, but are not the user’s own', () => {
  const settings = [
    setting('approval.allow', ['a'], ['a', 'b']),
    setting('approval.deny', null, []),
    setting('profiles', null, { __proto__: null, constructor: { approval: { deny: ['c'] } } }),
  ];
  expect(listRules(settings)).toEqual([
    { pattern: 'a', decision: 'allow', profile: '', isOwn: true },
    { pattern: 'b', decision: 'allow', profile: '', isOwn: false },
    { pattern: 'c', decision: 'deny', profile: 'constructor', isOwn: false },
  ]);
});
