// What the server says went wrong, and which field it is about.

/** An error in words for a person; `fields` holds what belongs beside an input. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly fields: Record<string, string> = {},
  ) {
    super(message);
  }
}

/** Tell a request that came to nothing from one that was stopped. */
export function away(error: unknown): never {
  throw error instanceof DOMException || error instanceof Problem ? error : new Problem(0, 'The server does not answer.');
}

interface Body {
  title?: unknown;
  detail?: unknown;
  error?: { message?: unknown };
}

/** Read a problem, or the error of a call, from the body of an answer. */
export function problemOf(status: number, body: unknown): Problem {
  const told = (typeof body === 'object' && body !== null ? body : {}) as Body;
  const detail = [told.detail, told.error?.message, told.title, typeof body === 'string' ? body : null].find(
    (text): text is string => typeof text === 'string' && text !== '',
  );
  return new Problem(status, detail ?? `HTTP ${status}`, fieldsOf(detail ?? ''));
}

const PATH = /^([A-Za-z][\w.-]*): (.+)$/s;
const NAMED = /^(slug|version|urlTemplate|argSchema|outputSchema|func|displayName|tags)\b/;

/** The server tells mistakes as `path: what is wrong; path: ...`, or begins with the field's name. */
export function fieldsOf(detail: string): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const part of detail.split('; ')) {
    const [, path, message] = PATH.exec(part) ?? [];
    const named = NAMED.exec(message ?? part)?.[1];
    const name = path && named && !path.endsWith(named) ? `${path}.${named}` : (path ?? named);
    if (name) fields[name] = message ?? part;
  }
  return fields;
}

/** What to show of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
