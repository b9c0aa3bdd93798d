// The secret of an invitation. It is in the fragment of the link, which browsers send to no server.
import { WORKSPACE } from '~/api/workspace';

const STORAGE_KEY = `onetool-invitation ${WORKSPACE}`;

/** The path of the page that accepts invitations, in a workspace. */
export const JOIN_PATH = '/join';

/** Return the link for a person who is invited. */
export const invitationLink = (secret: string, origin: string, workspace: string = WORKSPACE): string =>
  `${origin}${workspace}${JOIN_PATH}#${secret}`;

/** Return the secret of the link. It is kept while the person logs in, and does not stay in the address. */
export function takeSecret(): string {
  const secret = location.hash.slice(1);
  if (secret) {
    sessionStorage.setItem(STORAGE_KEY, secret);
    history.replaceState(history.state, '', location.pathname);
  }
  return secret || (sessionStorage.getItem(STORAGE_KEY) ?? '');
}

export const forgetSecret = () => sessionStorage.removeItem(STORAGE_KEY);
