// The commands that change who may call a tool.
import type { Decision, Rule } from '~/api/access';
import { quoteShell } from '~/screens/tester/snippets';

const PLAIN_WORD = /^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/;

const command = (verb: 'allow' | 'deny', pattern: string, profile: string) =>
  `onetool ${verb} ${PLAIN_WORD.test(pattern) ? pattern : quoteShell(pattern)}${profile && ` --profile ${profile}`}`;

/** Return the commands after which a call runs without asking. Empty if it does already, or if no command helps. */
export function allowCommands(tool: string, { profile, rules }: Decision): string[] {
  if (rules.some(({ effect }) => effect === 'hidden')) return [];
  const lift = ({ origin, value }: Rule) => {
    const isOfProfile = profile !== '' && origin.startsWith(`profiles.${profile}.`);
    // A denied pattern takes precedence over allowed ones, so it must be removed itself.
    return command('allow', origin.endsWith('.deny') ? value : tool, isOfProfile ? profile : '');
  };
  return [...new Set(rules.filter(({ effect }) => effect !== 'allow').map(lift))];
}

/** Return the command after which a tool never runs; null if it does not run anyway. */
export function denyCommand(tool: string, { effect, profile }: Decision): string | null {
  return effect === 'allow' || effect === 'ask' ? command('deny', tool, profile) : null;
}
