import { expect, test } from 'vitest';
import { homePath, visiblePages } from '~/layout/pages';

const namesOf = (rights?: string[]) => visiblePages(rights && { rights }).map(({ page }) => page);

test('each role sees the pages that it may use', () => {
  const owner = namesOf(['read', 'call', 'make', 'manage', 'audit']);
  expect(owner).toContain('members');
  expect(owner).toContain('audit');
  const caller = namesOf(['read', 'call']);
  expect(caller).toContain('secrets');
  expect(caller).not.toContain('members');
  expect(caller).not.toContain('audit');
  expect(namesOf(['audit', 'see all calls'])).toEqual(['activity', 'audit']);
});

test('a server with a single user has no pages about members', () => {
  expect(namesOf()).toHaveLength(10);
  expect(namesOf()).not.toContain('secrets');
});

test('the first page is one that the user may see', () => {
  expect(homePath(undefined)).toBe('/tools');
  expect(homePath({ rights: ['read', 'call'] })).toBe('/tools');
  expect(homePath({ rights: ['audit', 'see all calls'] })).toBe('/activity');
  expect(homePath({ rights: [] })).toBe('/tools');
});
