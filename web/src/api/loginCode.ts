// The code of a login link. It is in the fragment of the link, which browsers send to no server.
import { WORKSPACE } from './workspace';

const PREFIX = '#login=';

/** Return the code of the link, or an empty text. It does not stay in the address or in the history. */
export function takeLoginCode(): string {
  if (WORKSPACE || !location.hash.startsWith(PREFIX)) return '';
  const code = location.hash.slice(PREFIX.length);
  history.replaceState(history.state, '', location.pathname + location.search);
  return code;
}
