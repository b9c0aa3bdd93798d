// Conversion of a definition to a recipe.
import { isStepsImpl } from '~/api/code';
import type { Tool, ToolBody } from '~/api/tools';
import { readParameters } from './parameters';
import { EMPTY_RECIPE, type HttpImpl, type Placeholder, placeholderNames, type Recipe, toToolBody } from './recipe';
import { readSteps } from './steps';

type Request = NonNullable<HttpImpl['request']>;
type ArgProperty = { type?: Placeholder['type']; description?: string } & Record<string, unknown>;

/** Convert a tool to a recipe. Return null if the form cannot represent all of it. */
export function recipeFromTool(tool: Tool): Recipe | null {
  const { slug, version, displayName, description, tags, argSchema, httpImpl, pythonImpl } = tool;
  const { type: _type, properties: _properties, required: _required, ...schemaRest } = argSchema;
  const rest = {
    ...(tool.outputSchema ? { outputSchema: tool.outputSchema as never } : {}),
    ...(tool.limits ? { limits: tool.limits } : {}),
  };
  const common = { ...EMPTY_RECIPE, slug, version, displayName, description, tags, rest };
  if (tool.type === 'python') {
    return pythonImpl ? { ...common, kind: 'python', func: pythonImpl.func, schemaRest: { ...argSchema } } : null;
  }
  if (tool.type === 'code') return withProgram({ ...common, schemaRest }, tool);
  if (!httpImpl?.request) return null;
  const recipe = withRequest({ ...common, schemaRest, response: httpImpl.response }, httpImpl.request, tool);
  // If the round trip changes the definition, the form would lose something.
  return recipe && isSameDefinition(toDefinition(tool), toToolBody(recipe)) ? recipe : null;
}

/** Convert a definition that the user wrote. Return null if it is invalid or the form cannot represent it. */
export function recipeFromJson(definition: unknown): Recipe | null {
  const defaults = { displayName: '', description: '', tags: [], isEnabled: true, argSchema: { type: 'object' } };
  try {
    return recipeFromTool({ ...defaults, ...(definition as Tool), slug: '', version: '' } as Tool);
  } catch {
    return null; // the JSON can have any shape
  }
}

/** Return the definition of a tool without the fields that the server adds. */
export function toDefinition(tool: Tool): ToolBody {
  const { displayName, description, tags, isEnabled, type, argSchema, outputSchema, limits } = tool;
  const { pythonImpl, httpImpl } = tool;
  // The server writes the program of steps.
  const codeImpl = isStepsImpl(tool.codeImpl) ? { ...tool.codeImpl, program: undefined } : tool.codeImpl;
  const definition = {
    displayName,
    description,
    tags,
    isEnabled,
    type,
    argSchema,
    outputSchema,
    pythonImpl,
    httpImpl,
    codeImpl,
    limits,
  };
  return JSON.parse(JSON.stringify(definition)) as ToolBody;
}

function withProgram(common: Recipe, tool: Tool): Recipe | null {
  const parameters = readParameters(tool.argSchema);
  const { codeImpl } = tool;
  if (!parameters || !codeImpl) return null;
  const recipe: Recipe = isStepsImpl(codeImpl)
    ? { ...common, kind: 'steps', parameters, ...readSteps(codeImpl, parameters) }
    : { ...common, kind: 'code', parameters, program: codeImpl.program ?? '' };
  return isSameDefinition(toDefinition(tool), toToolBody(recipe)) ? recipe : null;
}

function withRequest(common: Recipe, request: Request, tool: Tool): Recipe | null {
  const auth = readAuth(request.auth);
  if (!auth) return null;
  const recipe: Recipe = {
    ...common,
    method: request.method ?? 'GET',
    url: request.urlTemplate,
    query: toPairs(request.query),
    headers: toPairs(request.headers),
    body: formatBody(request.body),
    auth,
  };
  const properties = (tool.argSchema.properties ?? {}) as Record<string, ArgProperty>;
  const required = (tool.argSchema.required ?? []) as string[];
  const placeholders = placeholderNames(recipe).map((name) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const { type = 'string', description = '', ...rest } = property ?? {};
    return [name, { isSecret: !property, type, description, required: required.includes(name), rest }];
  });
  return { ...recipe, placeholders: Object.fromEntries(placeholders) };
}

function toPairs(values: Record<string, unknown> | undefined) {
  return Object.entries(values ?? {}).map(([name, value]) => ({ name, value: String(value) }));
}

function formatBody(body: unknown): string {
  if (body === null || body === undefined) return '';
  return typeof body === 'string' ? body : JSON.stringify(body, null, 2);
}

function readAuth(auth: Request['auth']): Recipe['auth'] | null {
  if (!auth) return EMPTY_RECIPE.auth;
  const value = auth.type === 'bearer' ? auth.token : auth.type === 'apiKey' ? auth.value : '';
  const secret = /^\$\{([^{}]+)\}$/.exec(value)?.[1];
  if (!secret) return null;
  if (auth.type === 'apiKey') return { kind: auth.in ?? 'header', name: auth.name, secret };
  return { kind: 'bearer', name: '', secret };
}

/** Compare two definitions. Defaults may be explicit or omitted. */
function isSameDefinition(a: ToolBody, b: ToolBody): boolean {
  return JSON.stringify(normalize(a)) === JSON.stringify(normalize(b));
}

/** Sort keys and remove empty values, and the fields that the form never changes. */
function normalize(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalize);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    .filter(([key, item]) => !isIgnored(key, item))
    .map(([key, item]) => [key, normalize(item)] as const)
    .filter(([, item]) => !isEmpty(item))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries);
}

function isIgnored(key: string, value: unknown): boolean {
  return key === 'isEnabled' || key === 'successCodes' || (key === 'errorMode' && value === 'fail');
}

function isEmpty(value: unknown): boolean {
  return value === null || value === '' || (typeof value === 'object' && Object.keys(value as object).length === 0);
}
