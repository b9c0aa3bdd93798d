// Requests to the REST door: typed by its own document, with errors that a person can read.
import createClient from 'openapi-fetch';
import { away, problemOf } from './problem';
import type { components, paths } from './schema';

export type Schemas = components['schemas'];

/** Sent with every request: a foreign page cannot set it, so the cookie alone is of no use to one. */
export const OURS = { 'X-OneTool': '1' };

let signedOut: () => void = () => {};

/** Be told when the server no longer knows who we are. */
export function onSignedOut(listener: () => void): void {
  signedOut = listener;
}

/** Send a request as ourselves; being unknown to the server leads to the login. */
export async function send(request: Request | string, init?: RequestInit): Promise<Response> {
  const response = await fetch(request, { credentials: 'same-origin', ...init }).catch(away);
  if (response.status === 401) signedOut();
  return response;
}

export const api = createClient<paths>({ baseUrl: '', headers: OURS, fetch: send });

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Wait for an answer; throw a Problem where there is none. */
export async function answerOf<T>(asked: Promise<Answer<T>>): Promise<T> {
  const answer = await asked.catch(away);
  if (!answer.response.ok) throw problemOf(answer.response.status, answer.error);
  return answer.data as T;
}
