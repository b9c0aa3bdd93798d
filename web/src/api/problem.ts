// Errors of the REST API.
import { reportAway } from './connection';
import type { components } from './schema';

type FieldError = components['schemas']['FieldErrorResponse'];

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
  if (isKnown) throw error;
  reportAway();
  throw new Problem(0, 'OneTool is not responding.');
}

/** Return whether a request failed because the server did not respond. A banner says so. */
export const isUnreachable = (error: unknown): boolean => error instanceof Problem && error.status === 0;

interface ErrorBody {
  title?: unknown;
  detail?: unknown;
  errors?: unknown;
  error?: { message?: unknown };
}

/** Create a `Problem` from the body of a failed response: problem details or a call result. */
export function toProblem(status: number, body: unknown): Problem {
  const { title, detail, errors, error } = (typeof body === 'object' && body !== null ? body : {}) as ErrorBody;
  const candidates = [detail, error?.message, title, body];
  const message = candidates.find((text): text is string => typeof text === 'string' && text !== '');
  return new Problem(status, message ?? `HTTP ${status}`, toFields(errors));
}

/** Return the messages of the invalid fields by their paths. Errors of the body itself have no field. */
function toFields(errors: unknown): Record<string, string> {
  const entries = Array.isArray(errors) ? errors.filter(isFieldError) : [];
  return Object.fromEntries(entries.map(({ path, message }) => [path, message]));
}

function isFieldError(value: unknown): value is FieldError {
  const { path, message } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  return typeof path === 'string' && path !== '' && typeof message === 'string';
}

/** Return the message to show for a thrown value. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
