// Simplification of JSON Schemas for forms. Values that a form cannot represent are edited as JSON.
import type { RJSFSchema, UiSchema } from '@rjsf/utils';
import { parseJsonPointer } from '~/api/url';

interface FormSchema {
  schema: RJSFSchema;
  uiSchema: UiSchema;
}

type SchemaObject = Record<string, unknown>;

/** The document that references point into, and the number of fields that may still be added. */
interface Context {
  root: SchemaObject;
  remainingFields: number;
}

/** Deeper values are easier to edit as JSON. */
const MAX_DEPTH = 4;
/** References can multiply a small schema to any number of fields. */
const MAX_FIELDS = 300;
const MAX_REFERENCES = 8;
/** Longer texts get a multi-line input. */
const MAX_SINGLE_LINE_LENGTH = 300;
const SCALAR_TYPES = ['string', 'number', 'integer', 'boolean'];
const NUMBER_KEYWORDS = ['minimum', 'maximum', 'maxLength', 'minItems', 'maxItems'];
const TEXT_KEYWORDS = ['title', 'description', 'format'];
/** Input types of the formats that browsers help to enter. */
const INPUT_TYPES: Record<string, string> = { email: 'email', uri: 'url', date: 'date' };
const KEYWORDS = ['type', 'enum', ...TEXT_KEYWORDS, ...NUMBER_KEYWORDS];

/** Convert the schema of a tool's arguments to one that the form supports. */
export function simplifySchema(schema: object): FormSchema {
  const root = schema as SchemaObject;
  const form = convert({ type: 'object', ...root }, { root, remainingFields: MAX_FIELDS }, 0);
  return {
    schema: { ...form.schema, title: undefined, description: undefined },
    uiSchema: { ...form.uiSchema, 'ui:submitButtonOptions': { norender: true } },
  };
}

/** Return whether the value at a path has a field that shows its errors. */
export function hasField(schema: RJSFSchema, path: string[]): boolean {
  const [segment, ...rest] = path;
  if (segment === undefined) return schema.type !== 'object';
  const child = childSchema(schema, segment);
  return isObject(child) ? hasField(child as RJSFSchema, rest) : schema.type !== 'object';
}

function childSchema(schema: RJSFSchema, segment: string): unknown {
  if (schema.type === 'array' && isObject(schema.items)) return schema.items;
  const properties = schema.properties ?? {};
  return Object.hasOwn(properties, segment) ? properties[segment] : undefined;
}

function convert(schema: unknown, context: Context, depth: number): FormSchema {
  const resolved = resolve(schema, context.root);
  const { type, properties, items } = resolved;
  if (depth > MAX_DEPTH || context.remainingFields-- <= 0) return convertToJson(resolved);
  const choice = convertChoice(resolved);
  if (choice) return choice;
  if (isScalarEnum(resolved.enum) || SCALAR_TYPES.includes(type as string)) return convertScalar(resolved);
  if (type === 'object' && isObject(properties) && fitsForm(properties, context)) {
    return convertObject(resolved, properties, context, depth);
  }
  if (type === 'array' && isObject(items)) return convertArray(resolved, items, context, depth);
  return convertToJson(resolved);
}

/** Convert alternatives that are constants with titles, or an enum with names, to a list of choices. */
function convertChoice(schema: SchemaObject): FormSchema | null {
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (isScalarEnum(schema.enum) && Array.isArray(schema.enumNames)) {
    return withNames(convertScalar(schema), schema.enumNames);
  }
  if (!Array.isArray(alternatives) || alternatives.length === 0) return null;
  if (!alternatives.every((item) => isObject(item) && typeof item.const === 'string')) return null;
  const choices = alternatives as { const: string; title?: unknown }[];
  const { oneOf: _oneOf, anyOf: _anyOf, ...rest } = schema;
  const values = choices.map((choice) => choice.const);
  return withNames(
    convertScalar({ type: 'string', ...rest, enum: values }),
    choices.map((choice) => choice.title ?? choice.const),
  );
}

function withNames({ schema, uiSchema }: FormSchema, names: unknown[]): FormSchema {
  return { schema, uiSchema: { ...uiSchema, 'ui:enumNames': names.map(String) } };
}

function isScalarEnum(values: unknown): boolean {
  return Array.isArray(values) && values.every((value) => typeof value !== 'object');
}

/** Return whether a form can show these properties: not too many, and no names that the form itself uses. */
function fitsForm(properties: SchemaObject, context: Context): boolean {
  const names = Object.keys(properties);
  return names.length <= context.remainingFields && !names.some((name) => name.startsWith('ui:'));
}

/** Follow references within the document, and drop alternatives that only allow null. */
function resolve(schema: unknown, root: SchemaObject): SchemaObject {
  let resolved = isObject(schema) ? schema : {};
  for (let hops = 0; hops < MAX_REFERENCES; hops++) {
    const target = referencedSchema(resolved, root);
    if (!target) break;
    const { $ref: _ref, anyOf: _anyOf, oneOf: _oneOf, ...siblings } = resolved;
    resolved = { ...target, ...siblings };
  }
  if (Array.isArray(resolved.type)) {
    const types = resolved.type.filter((type) => type !== 'null');
    resolved = { ...resolved, type: types.length === 1 ? types[0] : undefined };
  }
  return resolved;
}

function referencedSchema(schema: SchemaObject, root: SchemaObject): SchemaObject | null {
  if (typeof schema.$ref === 'string') return followReference(schema.$ref, root);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (!Array.isArray(alternatives)) return null;
  const [only, ...others] = alternatives.filter((item) => !(isObject(item) && item.type === 'null'));
  return others.length === 0 && isObject(only) ? only : null;
}

function followReference(ref: string, root: SchemaObject): SchemaObject | null {
  if (!ref.startsWith('#/')) return null;
  let target: unknown = root;
  for (const key of parseJsonPointer(ref)) {
    target = isObject(target) && Object.hasOwn(target, key) ? target[key] : undefined;
  }
  return isObject(target) ? target : null;
}

/** Select the keywords that the form supports. Values of the wrong type are dropped: tool authors can write anything. */
function pickKeywords(schema: SchemaObject): RJSFSchema {
  const isValid = (key: string) => {
    if (!(key in schema)) return false;
    if (NUMBER_KEYWORDS.includes(key)) return typeof schema[key] === 'number';
    return !TEXT_KEYWORDS.includes(key) || typeof schema[key] === 'string';
  };
  return Object.fromEntries(KEYWORDS.filter(isValid).map((key) => [key, schema[key]]));
}

/** Show the default value, or the first example, as a placeholder. */
function placeholderOptions(schema: SchemaObject): UiSchema {
  const value = schema.default ?? (Array.isArray(schema.examples) ? schema.examples[0] : undefined);
  if (value === undefined || value === null || typeof value === 'object') return {};
  return { 'ui:placeholder': String(value), 'ui:options': { fallback: value } };
}

function convertScalar(schema: SchemaObject): FormSchema {
  const { type, maxLength } = schema;
  const inputType = typeof schema.format === 'string' ? INPUT_TYPES[schema.format] : undefined;
  const isLong = type === 'string' && typeof maxLength === 'number' && maxLength > MAX_SINGLE_LINE_LENGTH;
  return {
    schema: { ...pickKeywords(schema), format: undefined },
    uiSchema: {
      ...placeholderOptions(schema),
      ...(isLong ? { 'ui:widget': 'textarea' } : {}),
      ...(inputType && type === 'string' ? { 'ui:inputType': inputType } : {}),
    },
  };
}

function convertObject(schema: SchemaObject, properties: SchemaObject, context: Context, depth: number): FormSchema {
  const fields = Object.entries(properties).map(
    ([name, property]) => [name, convert(property, context, depth + 1)] as const,
  );
  const required = Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === 'string') : [];
  return {
    schema: {
      ...pickKeywords(schema),
      properties: Object.fromEntries(fields.map(([name, field]) => [name, field.schema])),
      required,
    },
    uiSchema: Object.fromEntries(fields.map(([name, field]) => [name, field.uiSchema])),
  };
}

function convertArray(schema: SchemaObject, items: SchemaObject, context: Context, depth: number): FormSchema {
  const item = convert(items, context, depth + 1);
  const isMultiSelect = Array.isArray(item.schema.enum);
  return {
    schema: { ...pickKeywords(schema), items: item.schema, ...(isMultiSelect ? { uniqueItems: true } : {}) },
    uiSchema: { items: item.uiSchema },
  };
}

function convertToJson(schema: SchemaObject): FormSchema {
  const keywords = pickKeywords({ ...schema, type: undefined, enum: undefined });
  return {
    schema: { ...keywords, type: ['object', 'array', 'string', 'number', 'boolean', 'null'] },
    uiSchema: { 'ui:field': 'json' },
  };
}

function isObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
