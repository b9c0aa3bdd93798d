import type { CallResult } from '~/api/calls';

/** Where the message of a call that needs a login of the user sends them. */
const LOGIN_PATH = /\/(connections\?server=[^\s/]+|secrets)$/;

/** Return the page on which the user can log in, or write their secrets; undefined if the call needs neither. */
export function loginPath({ meta, error }: Pick<CallResult, 'meta' | 'error'>): string | undefined {
  const found = meta.reason === 'needs_login' ? LOGIN_PATH.exec(error?.message ?? '') : null;
  return found ? `/${found[1]}` : undefined;
}
