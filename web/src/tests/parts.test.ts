import { expect, test } from 'vitest';
import { fieldsOf, problemOf } from '~/api/problem';
import type { Tool } from '~/api/tools';
import { uuid7 } from '~/api/uuid';
import { isWeb } from '~/parts/Markdown';
import { nextVersion } from '~/screens/maker/versions';
import { groupVersions, switched } from '~/screens/tools/rows';
import { spansOf } from '~/screens/stats/spans';

test('mistakes are told beside their fields', () => {
  expect(fieldsOf('httpImpl.request.urlTemplate: must begin with https://; tags: should be a list')).toEqual({
    'httpImpl.request.urlTemplate': 'must begin with https://',
    tags: 'should be a list',
  });
  expect(fieldsOf("slug 'a_b' holds '_'. Allowed: letters, digits and dashes.")).toHaveProperty('slug');
});

test('an answer that is no problem still says something', () => {
  expect(problemOf(502, null).message).toBe('HTTP 502');
});

test('ids are of version 7, and later ones sort behind', () => {
  expect(uuid7()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(uuid7(1) < uuid7(1_000_000)).toBe(true);
});

test('links lead to the web alone', () => {
  expect(['https://a.example', 'http://a.example'].every(isWeb)).toBe(true);
  expect(['javascript:alert(1)', 'data:text/html,x', 'JaVaScRiPt:1', '/a', 'vbscript:x'].some(isWeb)).toBe(false);
});

test('a name stands for the newest version that is switched on', () => {
  const tool = (version: string, createdAt: string, isEnabled: boolean) => ({ bundleID: 'b', slug: 's', version, createdAt, isEnabled }) as Tool;
  const [grouped] = groupVersions([tool('v1', '1', true), tool('v3', '3', false), tool('v2', '2', true)]);
  expect([grouped?.main.version, grouped?.versions.length]).toEqual(['v2', 3]);
});

test('the next version is one that is free', () => {
  expect([nextVersion([]), nextVersion(['v1', '2026']), nextVersion(['v2', 'v1'])]).toEqual(['v1', 'v2', 'v3']);
});

test('every call of the period is in a bar', () => {
  const now = 1_700_000_000;
  const hours = [{ at: now - 3 * 3600 - (now % 3600), calls: 5, failed: 2 }, { at: now - 400 * 86_400, calls: 1, failed: 0 }];
  const total = (period: string) => spansOf(hours, period, now).reduce((sum, span) => sum + span.ok + span.failed, 0);
  expect([total('day'), total('week'), total('all')]).toEqual([5, 5, 6]);
});

test('off means every version, on the main one', () => {
  const tool = (version: string, isEnabled: boolean) => ({ bundleID: 'b', slug: 's', version, createdAt: version, isEnabled }) as Tool;
  const [grouped] = groupVersions([tool('v1', true), tool('v2', true), tool('v3', false)]);
  const names = (on: boolean) => switched(grouped!, on).map((one) => one.version);
  expect([names(false), names(true)]).toEqual([['v1', 'v2'], ['v2']]);
});
