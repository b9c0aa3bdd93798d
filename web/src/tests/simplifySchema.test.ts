// guards: browser-texts
import { expect, test } from 'vitest';
import { hasField, simplifySchema } from '~/forms/simplifySchema';

const JSON_FIELD = { 'ui:field': 'json' };

test('a nullable argument has the field of its other type', () => {
  const limit = { anyOf: [{ type: 'integer' }, { type: 'null' }], description: 'How many' };
  const { schema } = simplifySchema({ properties: { limit } });
  expect(schema.properties?.limit).toMatchObject({ type: 'integer', description: 'How many' });
});

test('only references within the document are followed', () => {
  const { schema, uiSchema } = simplifySchema({
    properties: { a: { $ref: '#/$defs/A' }, b: { $ref: 'https://example.com/b' } },
    $defs: { A: { type: 'string' } },
  });
  expect(schema.properties?.a).toMatchObject({ type: 'string' });
  expect(uiSchema.b).toEqual(JSON_FIELD);
});

test('a malformed reference is edited as JSON', () => {
  expect(simplifySchema({ properties: { a: { $ref: '#/%E0%A4%A' } } }).uiSchema.a).toEqual(JSON_FIELD);
});

test('a recursive schema terminates', () => {
  const tree = { properties: { child: { $ref: '#' } }, type: 'object' };
  expect(() => simplifySchema(tree)).not.toThrow();
});

test('repeated references do not multiply the fields', () => {
  const wide = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`p${index}`, { $ref: '#/$defs/A' }]));
  const { uiSchema } = simplifySchema({ properties: wide, $defs: { A: { type: 'object', properties: wide } } });
  const countFields = (part: object): number =>
    Object.values(part).reduce((sum, child) => sum + (typeof child === 'object' ? countFields(child as object) : 0), 1);
  expect(countFields(uiSchema)).toBeLessThan(20_000);
});

test('values without a suitable field are edited as JSON', () => {
  const { uiSchema } = simplifySchema({
    properties: {
      any: {},
      free: { type: 'object' },
      list: { type: 'array' },
      either: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    },
  });
  expect(uiSchema).toMatchObject({ any: JSON_FIELD, free: JSON_FIELD, list: JSON_FIELD, either: JSON_FIELD });
});

test('objects with reserved or too many names are edited as JSON', () => {
  const many = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`p${index}`, { type: 'string' }]));
  const { uiSchema } = simplifySchema({
    properties: {
      reserved: { type: 'object', properties: { 'ui:title': { type: 'string' } } },
      many: { type: 'object', properties: many },
    },
  });
  expect(uiSchema).toMatchObject({ reserved: JSON_FIELD, many: JSON_FIELD });
});

test.each([
  { path: ['o', 'a'], expected: true },
  { path: ['l', '0'], expected: true },
  { path: ['any', 'deep'], expected: true },
  { path: ['o'], expected: false },
  { path: [], expected: false },
  { path: ['elsewhere'], expected: false },
])('path $path has a field: $expected', ({ path, expected }) => {
  const { schema } = simplifySchema({
    properties: {
      o: { type: 'object', properties: { a: { type: 'string' } } },
      l: { type: 'array', items: { type: 'string' } },
      any: {},
    },
  });
  expect(hasField(schema, path)).toBe(expected);
});

test('titled choices are a selection with names', () => {
  const choices = [
    { const: 's', title: 'Small' },
    { const: 'l', title: 'Large' },
  ];
  const properties = {
    one: { type: 'string', oneOf: choices },
    legacy: { type: 'string', enum: ['s', 'l'], enumNames: ['Small', 'Large'] },
    many: { type: 'array', items: { anyOf: choices } },
  };
  const { schema, uiSchema } = simplifySchema({ type: 'object', properties });
  expect(schema.properties?.one).toMatchObject({ type: 'string', enum: ['s', 'l'] });
  expect(uiSchema.one).toMatchObject({ 'ui:enumNames': ['Small', 'Large'] });
  expect(uiSchema.legacy).toMatchObject({ 'ui:enumNames': ['Small', 'Large'] });
  expect(schema.properties?.many).toMatchObject({ items: { enum: ['s', 'l'] }, uniqueItems: true });
  expect(uiSchema.many).toMatchObject({ items: { 'ui:enumNames': ['Small', 'Large'] } });
});

test('formats select the type of input', () => {
  const properties = { day: { type: 'string', format: 'date' }, other: { type: 'string', format: 'regex' } };
  const { uiSchema } = simplifySchema({ type: 'object', properties });
  expect(uiSchema.day).toMatchObject({ 'ui:inputType': 'date' });
  expect(uiSchema.other).not.toHaveProperty('ui:inputType');
});
