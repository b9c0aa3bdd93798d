// The details of an entry as text.

/** Return a value as people read it: texts as they are, lists of them with commas, everything else as JSON. */
export function detailText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(', ');
  return JSON.stringify(value);
}

/** Return the details that say something. */
export const detailFacts = (detail: Record<string, unknown>): [string, string][] =>
  Object.entries(detail)
    .map(([name, value]): [string, string] => [name, detailText(value)])
    .filter(([, text]) => text !== '');
