// A tool as the recipe form describes it, and its conversion to a definition.
import { parseJsonOrText } from '~/api/json';
import type { Tool, ToolBody } from '~/api/tools';
import { type Parameter, toArgSchema } from './parameters';
import { type Reference, type StepDraft, toCodeImpl } from './steps';

export type HttpImpl = NonNullable<Tool['httpImpl']>;

export interface Pair {
  name: string;
  value: string;
}

/** A `${name}` in the request: an argument of the tool, or a secret. */
export interface Placeholder {
  isSecret: boolean;
  type: 'string' | 'integer' | 'number' | 'boolean';
  description: string;
  required: boolean;
  /** Other keywords of its JSON Schema. */
  rest?: Record<string, unknown>;
}

export type AuthKind = 'none' | 'bearer' | 'header' | 'query';

export interface Recipe {
  slug: string;
  version: string;
  displayName: string;
  description: string;
  tags: string[];
  kind: 'http' | 'python' | 'steps' | 'code';
  method: string;
  url: string;
  query: Pair[];
  headers: Pair[];
  body: string;
  auth: { kind: AuthKind; name: string; secret: string };
  func: string;
  placeholders: Record<string, Placeholder>;
  /** The parameters of steps and of code. */
  parameters: Parameter[];
  steps: StepDraft[];
  /** What steps return; null for the result of the last one. */
  result: Reference | null;
  program: string;
  /** The parts of a definition that the form does not show. They are preserved unchanged. */
  schemaRest: Record<string, unknown>;
  rest: Pick<ToolBody, 'outputSchema' | 'limits'>;
  response?: HttpImpl['response'];
}

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

export const EMPTY_RECIPE: Recipe = {
  slug: '',
  version: 'v1',
  displayName: '',
  description: '',
  tags: [],
  kind: 'http',
  method: 'GET',
  url: '',
  query: [],
  headers: [],
  body: '',
  auth: { kind: 'none', name: '', secret: '' },
  func: '',
  placeholders: {},
  parameters: [],
  steps: [],
  result: null,
  program: '',
  schemaRest: { additionalProperties: false },
  rest: {},
};

const PLACEHOLDER = /\$\{([^{}\s]+)\}/g;
const CONSTANT_CASE = /^[A-Z][A-Z0-9_]*$/;

/** Return whether requests with the recipe's method have a body. */
export const hasBody = ({ method }: Recipe) => !['GET', 'HEAD'].includes(method);

/** Return whether the tool is a program: code, or steps that the server writes as code. */
export const isProgram = ({ kind }: Recipe) => kind === 'steps' || kind === 'code';

/** Return the names of all placeholders in the request, in order of appearance. */
export function placeholderNames(recipe: Recipe): string[] {
  if (recipe.kind !== 'http') return [];
  const values = [...recipe.query, ...recipe.headers].map((pair) => pair.value);
  const texts = [recipe.url, ...values, hasBody(recipe) ? recipe.body : ''];
  const names = texts.flatMap((text) => Array.from(text.matchAll(PLACEHOLDER), ([, name = '']) => name));
  return [...new Set(names)].filter((name) => !name.startsWith('steps.'));
}

/** Return the settings of a placeholder. By default, a name in capitals is a secret. */
export function getPlaceholder({ placeholders }: Recipe, name: string): Placeholder {
  const placeholder = Object.hasOwn(placeholders, name) ? placeholders[name] : undefined;
  return placeholder ?? { isSecret: CONSTANT_CASE.test(name), type: 'string', description: '', required: true };
}

/** Return the host of a URL, or null if it has none yet. */
export function urlHost(url: string): string | null {
  return /^https?:\/\/([^/?#:@\s]+)/.exec(url)?.[1] ?? null;
}

/** Convert a recipe to a definition. */
export function toToolBody(recipe: Recipe): ToolBody {
  const { displayName, description, tags } = recipe;
  const common = { displayName, description, tags, isEnabled: true, ...recipe.rest };
  if (recipe.kind === 'python') {
    const schemaRest = recipe.schemaRest === EMPTY_RECIPE.schemaRest ? {} : recipe.schemaRest;
    const argSchema = { type: 'object', ...schemaRest };
    return { ...common, type: 'python', argSchema, pythonImpl: { func: recipe.func } } as ToolBody;
  }
  if (isProgram(recipe)) {
    const argSchema = toArgSchema(recipe.parameters, recipe.schemaRest);
    const { kind, steps, parameters, result, program } = recipe;
    const codeImpl = kind === 'steps' ? toCodeImpl(steps, parameters, result) : { program };
    return { ...common, type: 'code', argSchema, codeImpl } as ToolBody;
  }
  const response = recipe.response ? { response: recipe.response } : {};
  const httpImpl = { request: buildRequest(recipe), ...response };
  return { ...common, type: 'http', argSchema: buildArgSchema(recipe), httpImpl } as ToolBody;
}

function buildArgSchema(recipe: Recipe): ToolBody['argSchema'] {
  const args = placeholderNames(recipe)
    .map((name) => ({ name, ...getPlaceholder(recipe, name) }))
    .filter(({ isSecret }) => !isSecret);
  const properties = args.map(({ name, type, description, rest }) => [
    name,
    { type, ...(description ? { description } : {}), ...rest },
  ]);
  const required = args.filter((arg) => arg.required).map(({ name }) => name);
  return { type: 'object', properties: Object.fromEntries(properties), required, ...recipe.schemaRest };
}

function buildRequest(recipe: Recipe) {
  return {
    method: recipe.method,
    urlTemplate: recipe.url.trim(),
    ...(recipe.query.length ? { query: toObject(recipe.query) } : {}),
    ...(recipe.headers.length ? { headers: toObject(recipe.headers) } : {}),
    ...(hasBody(recipe) && recipe.body.trim() ? { body: parseJsonOrText(recipe.body) } : {}),
    ...(recipe.auth.kind === 'none' ? {} : { auth: buildAuth(recipe.auth) }),
  };
}

function toObject(pairs: Pair[]): Record<string, string> {
  const named = pairs.filter((pair) => pair.name.trim());
  return Object.fromEntries(named.map((pair) => [pair.name.trim(), pair.value]));
}

function buildAuth({ kind, name, secret }: Recipe['auth']) {
  const value = `\${${secret.trim()}}`;
  return kind === 'bearer' ? { type: 'bearer', token: value } : { type: 'apiKey', in: kind, name, value };
}
