// Errors of the REST API.

/** An error with a message for the user. `fields` maps form fields to their messages. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly fields: Record<string, string> = {},
  ) {
    super(message);
  }
}

/** Rethrow an error of `fetch`: network errors become a `Problem` with status 0, aborts stay as they are. */
export function throwUnreachable(error: unknown): never {
  const isKnown = error instanceof DOMException || error instanceof Problem;
  throw isKnown ? error : new Problem(0, 'OneTool is not responding.');
}

interface ErrorBody {
  title?: unknown;
  detail?: unknown;
  error?: { message?: unknown };
}

/** Create a `Problem` from the body of a failed response: problem details or a call result. */
export function toProblem(status: number, body: unknown): Problem {
  const { title, detail, error } = (typeof body === 'object' && body !== null ? body : {}) as ErrorBody;
  const candidates = [detail, error?.message, title, body];
  const message = candidates.find((text): text is string => typeof text === 'string' && text !== '');
  return new Problem(status, message ?? `HTTP ${status}`, parseFieldErrors(message ?? ''));
}

const FIELD_PATH = /^([A-Za-z][\w.-]*): (.+)$/s;
const FIELD_NAMES = ['slug', 'version', 'urlTemplate', 'argSchema', 'outputSchema', 'func', 'displayName', 'tags'];
const LEADING_NAME = new RegExp(`^(?:invalid )?(${FIELD_NAMES.join('|')})\\b`, 'i');

/** Extract field errors from a message: `path: message; path: ...`, or a message that starts with a field name. */
export function parseFieldErrors(detail: string): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const part of detail.split('; ')) {
    const [, path, message] = FIELD_PATH.exec(part) ?? [];
    const name = leadingFieldName(message ?? part);
    const field = path && name && !path.endsWith(name) ? `${path}.${name}` : (path ?? name);
    if (field) fields[field] = message ?? part;
  }
  return fields;
}

function leadingFieldName(message: string): string | undefined {
  const match = LEADING_NAME.exec(message)?.[1]?.toLowerCase();
  return FIELD_NAMES.find((name) => name.toLowerCase() === match);
}

/** Return the message to show for a thrown value. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
