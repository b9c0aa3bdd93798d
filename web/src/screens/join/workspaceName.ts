import { WORKSPACE } from '~/api/workspace';

/** The name of the workspace in the address. */
export const workspaceName = (): string => WORKSPACE.replace('/w/', '');
