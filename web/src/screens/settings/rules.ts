// The rules with patterns, in the settings for all clients and in those of profiles.
import type { Setting } from '~/api/settings';

export type RuleDecision = 'allow' | 'deny';

export interface PatternRule {
  pattern: string;
  decision: RuleDecision;
  /** Empty: it applies to all clients. */
  profile: string;
  /** Whether it is in the user's file, and not only in that of the project. */
  isOwn: boolean;
}

const DECISIONS: RuleDecision[] = ['deny', 'allow'];

/** Return the key of the list that a rule is in. */
export const ruleKey = (decision: RuleDecision, profile: string): string =>
  profile ? `profiles.${profile}.approval.${decision}` : `approval.${decision}`;

/** Return all rules. */
export function listRules(settings: Setting[]): PatternRule[] {
  const profiles = settings.find(({ key }) => key === 'profiles');
  const names = Object.keys(asMap(profiles?.value));
  return ['', ...names].flatMap((profile) =>
    DECISIONS.flatMap((decision) => {
      const setting = profile ? profiles : settings.find(({ key }) => key === ruleKey(decision, ''));
      const path = profile ? [profile, 'approval', decision] : [];
      const own = asList(follow(setting?.stored, path));
      return asList(follow(setting?.value, path)).map((pattern) => ({
        pattern,
        decision,
        profile,
        isOwn: own.includes(pattern),
      }));
    }),
  );
}

const asMap = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

const asList = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

const follow = (value: unknown, path: string[]): unknown =>
  path.reduce((part, name) => (Object.hasOwn(asMap(part), name) ? asMap(part)[name] : undefined), value);
