// The REST client, typed by the server's OpenAPI document.
import createClient from 'openapi-fetch';
import { throwUnreachable, toProblem } from './problem';
import type { components, paths } from './schema';
import { apiUrl, WORKSPACE } from './workspace';

export type Schemas = components['schemas'];

/** Sent with every request. Other origins cannot set this header, so the cookie alone grants them nothing. */
export const CLIENT_HEADERS = { 'X-OneTool': '1' };

let handleUnauthorized: () => void = () => {};

/** Register the handler for responses with status 401. */
export function onUnauthorized(handler: () => void): void {
  handleUnauthorized = handler;
}

/** Send a request with the session cookie. */
export async function send(request: Request | string, init?: RequestInit): Promise<Response> {
  const target = typeof request === 'string' ? apiUrl(request) : request;
  const response = await fetch(target, { credentials: 'same-origin', ...init }).catch(throwUnreachable);
  if (response.status === 401) handleUnauthorized();
  return response;
}

export const api = createClient<paths>({ baseUrl: WORKSPACE, headers: CLIENT_HEADERS, fetch: send });

interface ApiResponse<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Return the data of a response. Throw a `Problem` if the request failed. */
export async function unwrap<T>(request: Promise<ApiResponse<T>>): Promise<T> {
  const { data, error, response } = await request.catch(throwUnreachable);
  if (!response.ok) throw toProblem(response.status, error);
  return data as T;
}
