import { expect, test } from 'vitest';
import type { Me } from '~/api/members';
import { en } from '~/i18n/en';
import { LANGUAGES } from '~/i18n/languages';
import { actionItems, matchItems, pageItems } from '~/layout/commandItems';
import { isCommandKey } from '~/layout/commandKeys';

const withRights = (...rights: string[]) => ({ rights }) as unknown as Me;
const ids = (items: { id: string }[]) => items.map(({ id }) => id);

test('members find only pages and actions that their role allows', () => {
  expect(ids(pageItems(en, withRights('audit', 'read')))).not.toContain('page-chat');
  const caller = ids(actionItems(en, withRights('read', 'call'), LANGUAGES));
  expect(caller).toContain('new-chat');
  expect(caller).not.toContain('add-server');
  expect(ids(actionItems(en, withRights('read', 'call', 'make'), LANGUAGES))).toContain('add-server');
  expect(ids(actionItems(en, undefined, LANGUAGES))).toContain('import');
});

test('every word must match the label or a keyword', () => {
  const items = [...pageItems(en, undefined), ...actionItems(en, undefined, LANGUAGES)];
  expect(ids(matchItems(items, 'ADD serv'))).toEqual(['add-server']);
  expect(ids(matchItems(items, 'dark'))).toEqual(['theme']);
  expect(matchItems(items, 'serv nonsense')).toEqual([]);
});

test('Ctrl-K and Cmd-K open the palette, other keys do not', () => {
  const key = (changes: object) =>
    isCommandKey({ key: 'k', ctrlKey: false, metaKey: false, target: null, ...changes } as KeyboardEvent);
  expect(key({ ctrlKey: true })).toBe(true);
  expect(key({ metaKey: true })).toBe(true);
  expect(key({})).toBe(false);
  expect(key({ ctrlKey: true, shiftKey: true })).toBe(false);
  expect(key({ ctrlKey: true, defaultPrevented: true })).toBe(false);
});
