import { expect, test } from 'vitest';
import type { Tool } from '~/api/tools';
import { readFilter, toolActivityPath, writeFilter } from '~/screens/activity/filter';
import { formatBody, formatBytes, isCut, parseArguments, parseDecision } from '~/screens/activity/recordText';
import { toPython } from '~/screens/tester/snippets';

test('only complete arguments can be used again', () => {
  expect(parseArguments('{"a": ["\\u001b[1m", 9007199254740991, 0.5]}')).toEqual({
    a: ['\u001b[1m', 9007199254740991, 0.5],
  });
  const nested = `{"a":${'['.repeat(200)}${']'.repeat(200)}}`;
  for (const text of [
    '',
    '{"a": "x ... (cut)',
    '[1]',
    'null',
    '(cannot be shown)',
    '{"n": 9007199254740993}',
    nested,
  ]) {
    expect(parseArguments(text)).toBeNull();
  }
});

test('texts are indented only if they are JSON and keep every digit', () => {
  expect(formatBody('{"a":1}')).toBe('{\n  "a": 1\n}');
  for (const text of ['{"n":12345678901234567890}', '{"a": "x ... (cut)', 'print(1)', '7', '']) {
    expect(formatBody(text)).toBe(text);
  }
  expect([isCut('{"a": "x ... (cut)'), isCut('{"a": 1}')]).toEqual([true, false]);
});

test('sizes are short', () => {
  expect([0, 999, 1_500, 2_000_000].map(formatBytes)).toEqual(['0 B', '999 B', '1.5 kB', '2.0 MB']);
});

test('a decision is split into its parts', () => {
  expect(parseDecision('allow: read-only')).toEqual({ effect: 'allow', rule: 'read-only', isApproved: false });
  expect(parseDecision('ask: a; b; approved')).toEqual({ effect: 'ask', rule: 'a; b', isApproved: true });
  expect(parseDecision('constructor: x')).toBeNull();
});

test('a filter survives in the address', () => {
  const address = '?tool=a.*&interface=mcp&client=%3Cb%3E%26&profile=p&period=day&failed=1&nested=1';
  const filter = readFilter(new URLSearchParams(address));
  expect(filter).toEqual({
    tool: 'a.*',
    interface: 'mcp',
    client: '<b>&',
    profile: 'p',
    period: 'day',
    isFailedOnly: true,
    withNested: true,
  });
  expect(readFilter(writeFilter(filter))).toEqual(filter);
  expect(readFilter(new URLSearchParams(toolActivityPath('a&b#c').slice('/activity?'.length))).tool).toBe('a&b#c');
});

test('an address cannot set an unknown period or a text that is too long', () => {
  const filter = readFilter(
    new URLSearchParams({ period: 'toString', tool: 'x'.repeat(500), client: 'y'.repeat(500) }),
  );
  expect([filter.period, filter.tool.length, filter.client.length]).toEqual(['', 200, 400]);
});

test('hostile arguments stay inside the strings of Python code', () => {
  const args = { text: '"""\'\n\r\\\u2028\u0000\ud800', '"; import os #': 1 };
  const code = toPython({ name: 'a"b', isBuiltIn: true } as Tool, args);
  expect(code).toContain(
    'ot.call("a\\"b", text="\\"\\"\\"\'\\n\\r\\\\\u2028\\u0000\\ud800", **{"\\"; import os #": 1})',
  );
});
