/** The first page of a workspace. */
export const workspacePath = (slug: string): string => `/w/${encodeURIComponent(slug)}/`;
