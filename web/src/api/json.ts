/** What a text says in JSON; undefined where it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The same, where a text that is no JSON stands for itself. */
export function parsedOrText(text: string): unknown {
  const value = parsed(text);
  return value === undefined ? text : value;
}
