import { expect, test } from 'vitest';
import { hasField, simplify } from '~/forms/simplify';
import { mistakesIn } from '~/forms/validator';

test('an argument that may be null is shown as what it is otherwise', () => {
  const { schema } = simplify({ properties: { limit: { anyOf: [{ type: 'integer' }, { type: 'null' }], description: 'How many' } } });
  expect(schema.properties?.limit).toMatchObject({ type: 'integer', description: 'How many' });
});

test('references inside the document are followed, those outside are not', () => {
  const { schema, ui } = simplify({ properties: { a: { $ref: '#/$defs/A' }, b: { $ref: 'https://example.com/b' } }, $defs: { A: { type: 'string' } } });
  expect(schema.properties?.a).toMatchObject({ type: 'string' });
  expect(ui.b).toEqual({ 'ui:field': 'json' });
});

test('a schema that refers to itself comes to an end', () => {
  const tree = { properties: { child: { $ref: '#' } }, type: 'object' };
  expect(() => simplify(tree)).not.toThrow();
});

test('what a form cannot show is entered as JSON', () => {
  const { ui } = simplify({ properties: { any: {}, free: { type: 'object' }, list: { type: 'array' }, either: { anyOf: [{ type: 'string' }, { type: 'integer' }] } } });
  expect(Object.values(ui).filter((one) => (one as { 'ui:field'?: string })['ui:field'] === 'json')).toHaveLength(4);
});

test('a mistake is told at its field', () => {
  const schema = { type: 'object', properties: { a: { type: 'object', properties: { n: { type: 'integer' } } } }, required: ['b'] };
  expect(mistakesIn(schema, { a: { n: 'x' } }).map((one) => one.path.join('.'))).toEqual(['b', 'a.n']);
});

test('a form has an end, however often references repeat', () => {
  const wide = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`p${at}`, { $ref: '#/$defs/A' }]));
  const { ui } = simplify({ properties: wide, $defs: { A: { type: 'object', properties: wide } } });
  const fields = (part: object): number => Object.values(part).reduce((sum, one) => sum + (typeof one === 'object' ? fields(one as object) : 0), 1);
  expect(fields(ui)).toBeLessThan(20_000);
});

test('a reference that cannot be read leads nowhere', () => {
  expect(simplify({ properties: { a: { $ref: '#/%E0%A4%A' } } }).ui.a).toEqual({ 'ui:field': 'json' });
});

test('no pattern of a tool is tried here', () => {
  const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' }, pattern: { type: 'integer' } } };
  expect(mistakesIn(schema, { a: `${'a'.repeat(40)}!`, pattern: 'x' }).map((one) => one.path.join('.'))).toEqual(['pattern']);
});

test('names that mean something to the form itself, and very many, are entered as JSON', () => {
  const many = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`p${at}`, { type: 'string' }]));
  const odd = { properties: { o: { type: 'object', properties: { 'ui:title': { type: 'string' } } }, m: { type: 'object', properties: many } } };
  expect(simplify(odd).ui).toMatchObject({ o: { 'ui:field': 'json' }, m: { 'ui:field': 'json' } });
});

test('a mistake without an input of its own is known', () => {
  const { schema } = simplify({ properties: { o: { type: 'object', properties: { a: { type: 'string' } } }, l: { type: 'array', items: { type: 'string' } }, any: {} } });
  const paths = [['o', 'a'], ['l', '0'], ['any', 'deep'], ['o'], [], ['elsewhere']];
  expect(paths.map((path) => hasField(schema, path))).toEqual([true, true, true, false, false, false]);
});
