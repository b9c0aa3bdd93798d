/** What a text says in JSON; undefined where it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A value as JSON, to be read; a value nested too deeply for that says so. */
export function written(value: unknown): string {
  try {
    return JSON.stringify(value, null, 2) ?? 'null';
  } catch {
    return '(too deeply nested to be shown)';
  }
}

/** What a text says in JSON; a text that is none stands for itself. */
export function parsedOrText(text: string): unknown {
  const value = parsed(text);
  return value === undefined ? text : value;
}
