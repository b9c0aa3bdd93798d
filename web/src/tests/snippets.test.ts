import { expect, test } from 'vitest';
import { stringify } from '~/api/json';
import type { Tool } from '~/api/tools';
import { formatKeywords, quoteShell, toCliCommand, toPythonLiteral } from '~/screens/tester/snippets';

const TOOL = { name: 'weather.rain' } as Tool;

test('values are formatted as Python literals', () => {
  expect(toPythonLiteral({ a: [true, null, 'x"y'] })).toBe('{"a": [True, None, "x\\"y"]}');
});

test('names that are not valid in Python are passed as a dictionary', () => {
  expect(formatKeywords({ city: 'Oslo', class: 1, 'a-b': 2 })).toBe('city="Oslo", **{"class": 1, "a-b": 2}');
});

test('quotes are escaped for the shell', () => {
  expect(quoteShell("it's")).toBe(`'it'\\''s'`);
  expect(toCliCommand(TOOL, { city: "O'Hare" })).toBe(`onetool run 'weather.rain(city="O'\\''Hare")'`);
});

test('values that are nested too deeply are truncated', () => {
  let deep: unknown = 1;
  for (let depth = 0; depth < 50_000; depth++) deep = [deep];
  expect(formatKeywords({ deep })).toContain('...');
  expect(stringify(deep)).toBe('(nested too deeply to display)');
});
