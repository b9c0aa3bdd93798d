// The filter of the audit log in the address of the page.
import type { AuditFilter } from '~/api/audit';

/** The longest texts that the server accepts. */
export const MAX_WORD_LENGTH = 400;
const MAX_ACTION_LENGTH = 100;

export function readFilter(params: URLSearchParams): AuditFilter {
  const word = (name: string) => (params.get(name) ?? '').slice(0, MAX_WORD_LENGTH);
  // The server accepts no times before 1970.
  const time = (name: string) => (new Date(word(name)).getTime() >= 0 ? word(name) : '');
  return {
    actor: word('actor'),
    action: word('action').slice(0, MAX_ACTION_LENGTH),
    target: word('target'),
    since: time('since'),
    until: time('until'),
  };
}

export const writeFilter = (filter: AuditFilter): URLSearchParams =>
  new URLSearchParams(Object.entries(filter).filter(([, text]) => text !== ''));
