// The path of the workspace that this page belongs to. Empty if the server has a single user.

/** Return the start of a path that names a workspace: `/w/NAME`. */
export const workspaceOf = (path: string): string => path.match(/^\/w\/[^/]+/)?.[0] ?? '';

export const WORKSPACE = typeof location === 'undefined' ? '' : workspaceOf(location.pathname);

/** Return the URL of a path of the API. */
export const apiUrl = (path: string): string => WORKSPACE + path;
