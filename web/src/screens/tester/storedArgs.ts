// Arguments in the storage of the browser: what is in the form, and requests that the user saved.
import type { Args } from './useCall';

/** Names of arguments whose values are probably secrets. */
const SECRET_NAME = /pass(word|phrase)|secret|token|api[-_]?key|credential/i;
/** The longest text that is stored for one tool. */
const MAX_LENGTH = 100_000;
export const MAX_SAVED = 20;

export interface SavedRequest {
  name: string;
  args: Args;
}

interface ArgSchema {
  properties?: Record<string, { format?: unknown; writeOnly?: unknown }>;
}

/** Return the arguments without those that are for secrets: they are never stored. */
export function withoutSecrets(args: Args, schema: object): Args {
  const { properties = {} } = schema as ArgSchema;
  const isSecret = (name: string) =>
    SECRET_NAME.test(name) || properties[name]?.format === 'password' || properties[name]?.writeOnly === true;
  return Object.fromEntries(Object.entries(args).filter(([name]) => !isSecret(name)));
}

/** Read a stored value. Return undefined if there is none, or if it is not what was stored. */
export function readStored<T>(storage: Storage, key: string, isValid: (value: unknown) => value is T): T | undefined {
  try {
    const value: unknown = JSON.parse(storage.getItem(key) ?? 'null');
    return isValid(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Store a value, or remove it if it is undefined. Return false if the storage is full. */
export function writeStored(storage: Storage, key: string, value: unknown): boolean {
  try {
    const text = value === undefined ? undefined : JSON.stringify(value);
    if (text === undefined) storage.removeItem(key);
    else if (text.length > MAX_LENGTH) return false;
    else storage.setItem(key, text);
    return true;
  } catch {
    return false; // the storage is full or disabled
  }
}

export const isArgs = (value: unknown): value is Args =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isSavedList = (value: unknown): value is SavedRequest[] =>
  Array.isArray(value) && value.every((item) => isArgs(item) && typeof item.name === 'string' && isArgs(item.args));

/** Return the requests with one more. It replaces the one of the same name. */
export const addRequest = (requests: SavedRequest[], added: SavedRequest): SavedRequest[] =>
  [added, ...requests.filter(({ name }) => name !== added.name)].slice(0, MAX_SAVED);
