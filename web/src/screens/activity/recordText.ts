// The texts of a record: arguments, results, sizes and decisions.
import type { Effect } from '~/api/access';
import { parseJson, stringify } from '~/api/json';

type Args = Record<string, unknown>;

const CUT_MARK = ' ... (cut)';
const MAX_DEPTH = 100;
const DECISION = /^(allow|ask|deny|hidden): (.*?)(; approved)?$/s;

export const isCut = (text: string) => text.endsWith(CUT_MARK);

/** Indent JSON that has lost no digit of a number by parsing. Return other texts as they are. */
export function formatBody(text: string): string {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null && isExact(value) ? stringify(value) : text;
}

/** Return the arguments of a call; null if they are not complete, so the call cannot be repeated. */
export function parseArguments(text: string): Args | null {
  const value = parseJson(text);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject && isExact(value) ? (value as Args) : null;
}

/** Return whether no number is too large for JavaScript, and nothing is nested too deeply. */
function isExact(value: unknown, depth = 0): boolean {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value);
  if (typeof value !== 'object' || value === null) return true;
  return depth < MAX_DEPTH && Object.values(value).every((item) => isExact(item, depth + 1));
}

export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Split a decision into its effect, the rule, and whether a person approved the call. */
export function parseDecision(text: string): { effect: Effect; rule: string; isApproved: boolean } | null {
  const [, effect, rule = '', approved] = DECISION.exec(text) ?? [];
  return effect ? { effect: effect as Effect, rule, isApproved: approved !== undefined } : null;
}
