// Schemas of tools, made plain enough for a form: what a form cannot show well is entered as JSON.
import type { RJSFSchema, UiSchema } from '@rjsf/utils';
import { pointerSteps } from '~/api/address';

interface Plain {
  schema: RJSFSchema;
  ui: UiSchema;
}

type Part = Record<string, unknown>;

/** Deeper than this, JSON is easier to write than a form is to fill in. */
const DEEPEST = 4;
/** So many fields a form may have; references can make far more of them than a schema has lines. */
const MOST_FIELDS = 300;
const SCALARS = ['string', 'number', 'integer', 'boolean'];

/** Turn the schema of some arguments into one that a form can show. */
export function simplify(schema: object): Plain {
  const root = schema as Part;
  const plain = walk({ type: 'object', ...root }, { root, left: MOST_FIELDS }, 0);
  return { schema: { ...plain.schema, title: undefined, description: undefined }, ui: { ...plain.ui, 'ui:submitButtonOptions': { norender: true } } };
}

/** Whether a value has an input of its own, beside which its mistakes are told. */
export function hasField(schema: RJSFSchema, path: string[]): boolean {
  const [step, ...rest] = path;
  if (step === undefined) return schema.type !== 'object';
  const isList = schema.type === 'array' && isPart(schema.items);
  const inside: unknown = isList ? schema.items : Object.hasOwn(schema.properties ?? {}, step) ? schema.properties![step] : undefined;
  return isPart(inside) ? hasField(inside as RJSFSchema, rest) : schema.type !== 'object';
}

/** The document that references lead into, and how many fields may still come. */
interface Walk {
  root: Part;
  left: number;
}

function walk(given: unknown, way: Walk, depth: number): Plain {
  const part = resolve(given, way.root);
  if (depth > DEEPEST || way.left-- <= 0) return asJson(part);
  if (Array.isArray(part.enum) && part.enum.every((one) => typeof one !== 'object')) return scalar(part);
  const type = typeof part.type === 'string' ? part.type : '';
  if (SCALARS.includes(type)) return scalar(part);
  if (type === 'object' && isPart(part.properties) && fitsForm(part.properties, way)) return object(part, part.properties, way, depth);
  if (type === 'array' && isPart(part.items)) return array(part, part.items, way, depth);
  return asJson(part);
}

/** Whether a form can show these: names that the form's own settings have, and very many, it cannot. */
function fitsForm(properties: Part, way: Walk): boolean {
  const names = Object.keys(properties);
  return names.length <= way.left && !names.some((name) => name.startsWith('ui:'));
}

/** Follow a reference inside the document, and leave out what only says that null is allowed too. */
function resolve(given: unknown, root: Part): Part {
  let part = isPart(given) ? given : {};
  for (let hops = 0; hops < 8; hops++) {
    const next = target(part, root);
    if (!next) break;
    const { $ref: _ref, anyOf: _any, oneOf: _one, ...own } = part;
    part = { ...next, ...own };
  }
  if (Array.isArray(part.type)) {
    const types = part.type.filter((one) => one !== 'null');
    part = { ...part, type: types.length === 1 ? types[0] : undefined };
  }
  return part;
}

function target(part: Part, root: Part): Part | null {
  if (typeof part.$ref === 'string') return pointed(part.$ref, root);
  const choices = part.anyOf ?? part.oneOf;
  if (!Array.isArray(choices)) return null;
  const real = choices.filter((one) => !(isPart(one) && one.type === 'null'));
  return real.length === 1 && isPart(real[0]) ? real[0] : null;
}

function pointed(ref: string, root: Part): Part | null {
  if (!ref.startsWith('#/')) return null;
  let found: unknown = root;
  for (const key of pointerSteps(ref)) {
    found = isPart(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return isPart(found) ? found : null;
}

const KEPT = ['type', 'enum', 'title', 'description', 'format', 'minimum', 'maximum', 'maxLength', 'minItems', 'maxItems'];
const NUMBERS = ['minimum', 'maximum', 'maxLength', 'minItems', 'maxItems'];
const TEXTS = ['title', 'description', 'format'];

/** Only members of a known kind go into the form: a tool's schema is whatever its author wrote. */
function only(part: Part): RJSFSchema {
  const fits = (key: string) =>
    key in part && (!NUMBERS.includes(key) || typeof part[key] === 'number') && (!TEXTS.includes(key) || typeof part[key] === 'string');
  return Object.fromEntries(KEPT.filter(fits).map((key) => [key, part[key]]));
}

function hint(part: Part): UiSchema {
  const known = part.default ?? (Array.isArray(part.examples) ? part.examples[0] : undefined);
  return known === undefined || known === null || typeof known === 'object' ? {} : { 'ui:placeholder': String(known), 'ui:options': { fallback: known } };
}

function scalar(part: Part): Plain {
  const long = part.type === 'string' && typeof part.maxLength === 'number' && part.maxLength > 300;
  return { schema: { ...only(part), format: undefined }, ui: { ...hint(part), ...(long ? { 'ui:widget': 'textarea' } : {}) } };
}

function object(part: Part, properties: Part, way: Walk, depth: number): Plain {
  const made = Object.entries(properties).map(([name, one]) => [name, walk(one, way, depth + 1)] as const);
  const required = Array.isArray(part.required) ? part.required.filter((one) => typeof one === 'string') : [];
  return {
    schema: { ...only(part), properties: Object.fromEntries(made.map(([name, one]) => [name, one.schema])), required },
    ui: Object.fromEntries(made.map(([name, one]) => [name, one.ui])),
  };
}

function array(part: Part, items: Part, way: Walk, depth: number): Plain {
  const inside = walk(items, way, depth + 1);
  return { schema: { ...only(part), items: inside.schema }, ui: { items: inside.ui } };
}

function asJson(part: Part): Plain {
  return { schema: { ...only({ ...part, type: undefined, enum: undefined }), type: ['object', 'array', 'string', 'number', 'boolean', 'null'] }, ui: { 'ui:field': 'json' } };
}

function isPart(value: unknown): value is Part {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
