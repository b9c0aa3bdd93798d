import { expect, test } from 'vitest';
import { written } from '~/api/json';
import type { Tool } from '~/api/tools';
import { asRun, keywords, literal, quoted } from '~/screens/tester/snippets';

const TOOL = {
  name: 'weather.rain',
  argSchema: { properties: { city: {} } },
  httpImpl: { request: { method: 'GET', urlTemplate: 'https://a.example/rain/${city}', query: { key: '${API_KEY}' }, auth: { type: 'bearer', token: '${TOKEN}' } } },
} as unknown as Tool;

test('values are written as Python writes them', () => {
  expect(literal({ a: [true, null, 'x"y'] })).toBe('{"a": [True, None, "x\\"y"]}');
});

test('names that Python does not take go in as a dictionary', () => {
  expect(keywords({ city: 'Oslo', class: 1, 'a-b': 2 })).toBe('city="Oslo", **{"class": 1, "a-b": 2}');
});

test('a quote in a value does not end the shell word', () => {
  expect(quoted("it's")).toBe(`'it'\\''s'`);
  expect(asRun(TOOL, { city: "O'Hare" })).toBe(`onetool run 'weather.rain(city="O'\\''Hare")'`);
});

test('what is nested too deeply is shortened, and throws nothing', () => {
  let deep: unknown = 1;
  for (let at = 0; at < 50_000; at++) deep = [deep];
  expect(keywords({ deep })).toContain('...');
  expect(written(deep)).toBe('(too deeply nested to be shown)');
});
