// Conversion between the settings of a server and the fields of its form.
import type { ServerSettings } from '~/api/servers';

export interface Pair {
  name: string;
  value: string;
}

export interface Grant {
  path: string;
  write?: boolean;
}

/** Return the settings with one changed. An empty value removes the setting, so that its default applies. */
export function withSetting(settings: ServerSettings, key: string, value: unknown): ServerSettings {
  const { [key]: _, ...others } = settings;
  return isEmpty(value) ? others : { ...settings, [key]: value };
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Return one line for each text of a list. */
export const linesOf = (value: unknown): string => (Array.isArray(value) ? value.map(String).join('\n') : '');

export const parseLines = (text: string): string[] => (text === '' ? [] : text.split('\n'));

export function pairsOf(value: unknown): Pair[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).map(([name, item]) => ({ name, value: String(item) }));
}

export const toMap = (pairs: Pair[]): Record<string, string> =>
  Object.fromEntries(pairs.map(({ name, value }) => [name, value]));

export function grantsOf(value: unknown): Grant[] {
  return Array.isArray(value) ? value.filter((item): item is Grant => typeof item?.path === 'string') : [];
}

/** Return the object of a JSON text, or null if it is not one. */
export function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}
