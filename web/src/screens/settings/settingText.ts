// The values of settings as the text of a field, and back.
import type { Setting } from '~/api/settings';
import { formatItems, parseItems } from '~/forms/items';

/** How a setting is edited. */
export type FieldKind = 'switch' | 'select' | 'number' | 'text' | 'lines' | 'json';

export function fieldKind({ type, items, nullable }: Pick<Setting, 'type' | 'items' | 'nullable'>): FieldKind {
  if (type === 'boolean' && !nullable) return 'switch';
  if (type === 'choice') return 'select';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'string') return 'text';
  return type === 'list' && items === 'string' ? 'lines' : 'json';
}

/** Return the text of a value. */
export function toText(kind: FieldKind, value: unknown): string {
  if (kind === 'json') return JSON.stringify(value, null, 2);
  if (value === null || value === undefined) return '';
  return kind === 'lines' ? formatItems((value as unknown[]).map(String)) : String(value);
}

/** Return the value of a text. Throw an error with this name of a message if it has none. */
export function toValue(kind: FieldKind, text: string, nullable: boolean): unknown {
  if (kind === 'json') return parseJson(text);
  if (nullable && text.trim() === '') return null;
  if (kind === 'lines') return parseItems(text);
  if (kind !== 'number') return text;
  const number = Number(text);
  if (text.trim() === '' || Number.isNaN(number)) throw new Error('notNumber');
  return number;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('notJson');
  }
}
