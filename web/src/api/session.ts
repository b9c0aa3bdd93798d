// The person who has logged in at the provider, their workspaces, and invitations. Such paths belong to no workspace.
import { useMutation, useQuery } from '@tanstack/react-query';
import { CLIENT_HEADERS } from './client';
import { useAccountLogin } from './login';
import { Problem, throwUnreachable, toProblem } from './problem';
import { apiUrl } from './workspace';

export interface PersonWorkspace {
  slug: string;
  name: string;
  roles: string[];
}

export interface Session {
  person: { id: string; name: string; email: string };
  workspaces: PersonWorkspace[];
}

export interface Invitation {
  workspace: string;
  role: string;
}

async function request<T>(url: string, init: RequestInit = {}): Promise<T> {
  const headers = { ...CLIENT_HEADERS, 'Content-Type': 'application/json' };
  const response = await fetch(url, { credentials: 'same-origin', headers, ...init }).catch(throwUnreachable);
  const body: unknown = response.status === 204 ? null : await response.json().catch(() => null);
  if (!response.ok) throw toProblem(response.status, body);
  return body as T;
}

async function loadSession(): Promise<Session | null> {
  try {
    return await request<Session>('/auth/session');
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return null;
    throw error;
  }
}

/** Load which person has logged in; null if none has. Only servers with a provider are asked. */
export function useSession() {
  const isEnabled = useAccountLogin();
  return useQuery({ queryKey: ['session'], queryFn: loadSession, enabled: isEnabled, staleTime: 60_000 });
}

const post = <T>(path: string, body?: unknown) =>
  request<T>(path, { method: 'POST', body: body === undefined ? undefined : JSON.stringify(body) });

/** End the session of the person, whether or not they are a member of this workspace. */
export const useEndSession = () =>
  useMutation({ mutationFn: () => post<null>('/auth/logout'), onSuccess: () => location.reload() });

/** Load the role of an invitation that can be accepted. */
export const useInvitation = (secret: string, isEnabled: boolean) =>
  useQuery({
    queryKey: ['invitation'], // without the secret
    queryFn: () => post<Invitation>(apiUrl('/invitation'), { secret, accept: false }),
    enabled: isEnabled,
    staleTime: Infinity,
  });

export const useAcceptInvitation = () =>
  useMutation({ mutationFn: (secret: string) => post<Invitation>(apiUrl('/invitation'), { secret }), gcTime: 0 });
