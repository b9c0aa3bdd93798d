// The parameters of a program, and their conversion from and to a JSON Schema.
import { parseJson, stringify } from '~/api/json';

type JsonObject = Record<string, unknown>;

/** The types that the form offers. The first one allows every value. */
export const PARAMETER_TYPES = ['any', 'string', 'integer', 'number', 'boolean', 'array', 'object'] as const;
export type ParameterType = (typeof PARAMETER_TYPES)[number];

/** The names of variables. */
export const NAME_PATTERN = '\\s*[\\p{L}_][\\p{L}\\p{N}_]*\\s*';

export interface Parameter {
  /** Identifies the parameter when its name changes. */
  id: string;
  name: string;
  type: ParameterType;
  description: string;
  required: boolean;
  /** The default value as text: JSON, or the text itself for type string. */
  defaultText: string;
  /** Other keywords of its JSON Schema. */
  rest: JsonObject;
}

let lastId = 0;

/** Return an identifier that no name can have. */
export const nextId = () => `#${++lastId}`;

export const newParameter = (): Parameter => ({
  id: nextId(),
  name: '',
  type: 'string',
  description: '',
  required: true,
  defaultText: '',
  rest: {},
});

/** Return the default value of a parameter; undefined if it has none, or its text is not a value of its type. */
export function parseDefault({ type, defaultText }: Parameter): unknown {
  if (defaultText === '') return undefined;
  if (type === 'string') return defaultText;
  const value = parseJson(defaultText);
  if (type === 'any') return value === undefined ? defaultText : value;
  return value !== undefined && isOfType(value, type) ? value : undefined;
}

function isOfType(value: unknown, type: ParameterType): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type; // the other types have the same names in JavaScript
}

/** Return whether the text of the default is not a value of the parameter's type. */
export const hasInvalidDefault = (parameter: Parameter) =>
  parameter.defaultText !== '' && parseDefault(parameter) === undefined;

/** Return whether another parameter has the same name. */
export const hasDuplicateName = (parameters: Parameter[], { id, name }: Parameter) =>
  parameters.some((other) => other.id !== id && other.name.trim() === name.trim() && name.trim() !== '');

/** Return the schema of arguments with these parameters. `rest` has its other keywords. */
export function toArgSchema(parameters: Parameter[], rest: JsonObject): JsonObject {
  const properties = parameters.map((parameter) => [parameter.name.trim(), toProperty(parameter)] as const);
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name.trim());
  return { type: 'object', properties: Object.fromEntries(properties), required, ...rest };
}

function toProperty(parameter: Parameter): JsonObject {
  const { type, description, rest } = parameter;
  const value = parseDefault(parameter);
  return {
    ...(type === 'any' ? {} : { type }),
    ...(description ? { description } : {}),
    ...(value === undefined ? {} : { default: value }),
    ...rest,
  };
}

/** Return the parameters of a schema; null if the form cannot represent one of them. */
export function readParameters(argSchema: JsonObject): Parameter[] | null {
  const properties = Object.entries((argSchema.properties ?? {}) as Record<string, JsonObject>);
  const required = (argSchema.required ?? []) as string[];
  const parameters = properties.map(([name, property]) => readProperty(name, property, required.includes(name)));
  return parameters.every((parameter) => parameter !== null) ? parameters : null;
}

function readProperty(name: string, property: JsonObject, required: boolean): Parameter | null {
  const { type = 'any', description = '', default: value, ...others } = property;
  if (!PARAMETER_TYPES.includes(type as ParameterType) || typeof description !== 'string') return null;
  const defaultText = value === undefined ? '' : typeof value === 'string' ? value : stringify(value);
  const parameter = { id: nextId(), name, type: type as ParameterType, description, required, rest: others };
  const isShown = JSON.stringify(parseDefault({ ...parameter, defaultText })) === JSON.stringify(value);
  return isShown
    ? { ...parameter, defaultText }
    : { ...parameter, defaultText: '', rest: { ...others, default: value } };
}
