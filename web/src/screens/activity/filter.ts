// The filter of the list in the address of the page.
import { type ActivityFilter, PERIODS } from '~/api/activity';

/** The longest texts that the server accepts. */
export const MAX_PATTERN_LENGTH = 200;
export const MAX_WORD_LENGTH = 400;

export function readFilter(params: URLSearchParams): ActivityFilter {
  const word = (name: string) => (params.get(name) ?? '').slice(0, MAX_WORD_LENGTH);
  return {
    tool: (params.get('tool') ?? '').slice(0, MAX_PATTERN_LENGTH),
    interface: word('interface'),
    client: word('client'),
    profile: word('profile'),
    period: PERIODS.find((period) => period === params.get('period')) ?? '',
    isFailedOnly: params.has('failed'),
    withNested: params.has('nested'),
  };
}

export function writeFilter({ isFailedOnly, withNested, ...texts }: ActivityFilter): URLSearchParams {
  const params = new URLSearchParams(Object.entries(texts).filter(([, text]) => text !== ''));
  if (isFailedOnly) params.set('failed', '1');
  if (withNested) params.set('nested', '1');
  return params;
}

/** The list of all calls of a tool, also of those inside other calls. */
export const toolActivityPath = (tool: string) => `/activity?${new URLSearchParams({ tool, nested: '1' })}`;
