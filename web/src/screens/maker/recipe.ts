// A tool as a person describes it in a form, and the definition that is made from it.
import { parsedOrText } from '~/api/json';
import type { Tool, ToolBody } from '~/api/tools';

export interface Pair {
  name: string;
  value: string;
}

/** A name that was found in a request: asked for at each call, or taken from the secrets. */
export interface Found {
  isSecret: boolean;
  type: 'string' | 'integer' | 'number' | 'boolean';
  description: string;
  required: boolean;
  /** What else its schema says. */
  rest?: Record<string, unknown>;
}

export type AuthKind = 'none' | 'bearer' | 'header' | 'query';

export interface Recipe {
  slug: string;
  version: string;
  displayName: string;
  description: string;
  tags: string[];
  kind: 'http' | 'python';
  method: string;
  url: string;
  query: Pair[];
  headers: Pair[];
  body: string;
  auth: { kind: AuthKind; name: string; secret: string };
  func: string;
  found: Record<string, Found>;
  /** What a definition says beside what the form shows; it is handed on as it is. */
  schemaRest: Record<string, unknown>;
  rest: Pick<ToolBody, 'outputSchema' | 'limits'>;
  response?: HttpImpl['response'];
}

type HttpImpl = NonNullable<Tool['httpImpl']>;

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

export const BLANK: Recipe = {
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
  found: {},
  schemaRest: { additionalProperties: false },
  rest: {},
};

/** Whether a request of this kind carries one. */
export const hasBody = ({ method }: Recipe) => !['GET', 'HEAD'].includes(method);

const PLACE = /\$\{([^{}\s]+)\}/g;
const SHOUTED = /^[A-Z][A-Z0-9_]*$/;

/** Every `${name}` of a request, in the order in which they stand there. */
export function namesIn(recipe: Recipe): string[] {
  if (recipe.kind !== 'http') return [];
  const texts = [recipe.url, ...[...recipe.query, ...recipe.headers].map((pair) => pair.value), hasBody(recipe) ? recipe.body : ''];
  const names = texts.flatMap((text) => [...text.matchAll(PLACE)].map((match) => match[1]!));
  return [...new Set(names)].filter((name) => !name.startsWith('steps.'));
}

/** What is known of a name; one in capitals is taken for a secret until somebody says otherwise. */
export function foundOf(recipe: Recipe, name: string): Found {
  return Object.hasOwn(recipe.found, name) ? recipe.found[name]! : { isSecret: SHOUTED.test(name), type: 'string', description: '', required: true };
}

/** The host that a request goes to, where one can be read. */
export function hostOf(url: string): string | null {
  return /^https?:\/\/([^/?#:@\s]+)/.exec(url)?.[1] ?? null;
}

/** Make the definition. */
export function bodyOf(recipe: Recipe): ToolBody {
  const { displayName, description, tags } = recipe;
  const common = { displayName, description, tags, isEnabled: true, ...recipe.rest };
  if (recipe.kind === 'python') {
    return { ...common, type: 'python', argSchema: { type: 'object', ...(recipe.schemaRest === BLANK.schemaRest ? {} : recipe.schemaRest) }, pythonImpl: { func: recipe.func } } as ToolBody;
  }
  return { ...common, type: 'http', argSchema: schemaOf(recipe), httpImpl: { request: requestOf(recipe), ...(recipe.response ? { response: recipe.response } : {}) } } as ToolBody;
}

function schemaOf(recipe: Recipe): ToolBody['argSchema'] {
  const asked = namesIn(recipe).map((name) => [name, foundOf(recipe, name)] as const).filter(([, one]) => !one.isSecret);
  const properties = asked.map(([name, { type, description, rest }]) => [name, { type, ...(description ? { description } : {}), ...rest }]);
  const required = asked.filter(([, one]) => one.required).map(([name]) => name);
  return { type: 'object', properties: Object.fromEntries(properties), required, ...recipe.schemaRest };
}

function requestOf(recipe: Recipe) {
  const pairs = (given: Pair[]) => Object.fromEntries(given.filter((pair) => pair.name.trim()).map((pair) => [pair.name.trim(), pair.value]));
  return {
    method: recipe.method,
    urlTemplate: recipe.url.trim(),
    ...(recipe.query.length ? { query: pairs(recipe.query) } : {}),
    ...(recipe.headers.length ? { headers: pairs(recipe.headers) } : {}),
    ...(hasBody(recipe) && recipe.body.trim() ? { body: parsedOrText(recipe.body) } : {}),
    ...(recipe.auth.kind === 'none' ? {} : { auth: authOf(recipe.auth) }),
  };
}

function authOf({ kind, name, secret }: Recipe['auth']) {
  const value = `\${${secret.trim()}}`;
  return kind === 'bearer' ? { type: 'bearer', token: value } : { type: 'apiKey', in: kind, name, value };
}

/** Read a definition back into the form; null where the form could not say all of it. */
export function recipeOf(tool: Tool): Recipe | null {
  const { slug, version, displayName, description, tags } = tool;
  const { type: _type, properties: _properties, required: _required, ...schemaRest } = tool.argSchema;
  const rest = { ...(tool.outputSchema ? { outputSchema: tool.outputSchema as never } : {}), ...(tool.limits ? { limits: tool.limits } : {}) };
  const common: Recipe = { ...BLANK, slug, version, displayName, description, tags, rest, schemaRest, response: tool.httpImpl?.response };
  if (tool.type === 'python') return tool.pythonImpl ? { ...common, kind: 'python', func: tool.pythonImpl.func, schemaRest: { ...tool.argSchema } } : null;
  const request = tool.httpImpl?.request;
  const recipe = request && withRequest(common, request, tool);
  // The way there and back must lead to the same definition; otherwise something would be lost.
  return recipe && same(definitionOf(tool), bodyOf(recipe)) ? recipe : null;
}

/** Read a definition as somebody wrote it; null where it is none, or says what the form cannot. */
export function recipeIn(written: unknown): Recipe | null {
  const unsaid = { displayName: '', description: '', tags: [], isEnabled: true, argSchema: { type: 'object' } };
  try {
    return recipeOf({ ...unsaid, ...(written as Tool), slug: '', version: '' } as Tool);
  } catch {
    return null; // anything may have been written
  }
}

type Request = NonNullable<HttpImpl['request']>;

function withRequest(common: Recipe, request: Request, tool: Tool): Recipe | null {
  const auth = readAuth(request.auth);
  if (!auth) return null;
  const pairs = (given: Record<string, unknown> | undefined) => Object.entries(given ?? {}).map(([name, value]) => ({ name, value: String(value) }));
  const body: unknown = request.body;
  const text = body === null || body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body, null, 2);
  const recipe: Recipe = { ...common, method: request.method ?? 'GET', url: request.urlTemplate, query: pairs(request.query), headers: pairs(request.headers), body: text, auth };
  const known = (tool.argSchema.properties ?? {}) as Record<string, { type?: Found['type']; description?: string } & Record<string, unknown>>;
  const required = (tool.argSchema.required ?? []) as string[];
  const found = namesIn(recipe).map((name) => {
    const one = Object.hasOwn(known, name) ? known[name] : undefined;
    const { type = 'string', description = '', ...rest } = one ?? {};
    return [name, { isSecret: !one, type, description, required: required.includes(name), rest }];
  });
  return { ...recipe, found: Object.fromEntries(found) };
}

function readAuth(auth: Request['auth']): Recipe['auth'] | null {
  if (!auth) return BLANK.auth;
  const value = auth.type === 'bearer' ? auth.token : auth.type === 'apiKey' ? auth.value : '';
  const secret = /^\$\{([^{}]+)\}$/.exec(value)?.[1];
  if (!secret) return null;
  if (auth.type === 'apiKey') return { kind: auth.in ?? 'header', name: auth.name, secret };
  return { kind: 'bearer', name: '', secret };
}

/** What of a tool is its definition; the rest is what the server knows about it. */
export function definitionOf(tool: Tool): ToolBody {
  const { displayName, description, tags, isEnabled, type, argSchema, outputSchema, pythonImpl, httpImpl, limits } = tool;
  const all = { displayName, description, tags, isEnabled, type, argSchema, outputSchema, pythonImpl, httpImpl, limits };
  return JSON.parse(JSON.stringify(all)) as ToolBody;
}

/** Whether two definitions mean the same: defaults may be written or left out. */
function same(one: ToolBody, other: ToolBody): boolean {
  return JSON.stringify(bare(one)) === JSON.stringify(bare(other));
}

function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== 'object' || value === null) return value;
  const isBlank = (one: unknown) => one === null || one === '' || (typeof one === 'object' && Object.keys(one as object).length === 0);
  const entries = Object.entries(value)
    .filter(([key]) => !['isEnabled', 'successCodes', 'errorMode'].includes(key) || (key === 'errorMode' && (value as { errorMode: string }).errorMode !== 'fail'))
    .map(([key, one]) => [key, bare(one)] as const)
    .filter(([, one]) => !isBlank(one))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries);
}
