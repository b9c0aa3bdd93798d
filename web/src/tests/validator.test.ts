// guards: browser-texts
import { expect, test } from 'vitest';
import { findErrors } from '~/forms/validator';

const errorPaths = (schema: object, value: unknown) => findErrors(schema, value).map(({ path }) => path.join('.'));

test('an error has the path of its value', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'object', properties: { n: { type: 'integer' } } } },
    required: ['b'],
  };
  expect(errorPaths(schema, { a: { n: 'x' } })).toEqual(['b', 'a.n']);
});

test('patterns are not evaluated', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string', pattern: '^(a+)+$' }, pattern: { type: 'integer' } },
  };
  expect(errorPaths(schema, { a: `${'a'.repeat(40)}!`, pattern: 'x' })).toEqual(['pattern']);
});
