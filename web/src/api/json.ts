/** Parse JSON. Return undefined if the text is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parse JSON. Return the text itself if it is invalid. */
export function parseJsonOrText(text: string): unknown {
  const value = parseJson(text);
  return value === undefined ? text : value;
}

/** Format a value as indented JSON. Never throws: values nested too deeply are replaced by a short text. */
export function stringify(value: unknown): string {
  try {
    return JSON.stringify(value, null, 2) ?? 'null';
  } catch {
    return '(nested too deeply to display)';
  }
}
