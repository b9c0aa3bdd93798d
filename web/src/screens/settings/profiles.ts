// Profiles in the settings, and the fields of their form.
import type { Setting } from '~/api/settings';
import { formatItems, parseItems } from '~/forms/items';

export type Profile = Record<string, unknown>;

const LISTS = ['packs', 'servers', 'exclude', 'roots'] as const;
const APPROVAL_LISTS = ['allow', 'deny'] as const;

export interface ProfileFields {
  packs: string;
  servers: string;
  exclude: string;
  roots: string;
  allow: string;
  deny: string;
  expose: string;
  mode: string;
}

const asMap = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};

const asLines = (value: unknown): string => (Array.isArray(value) ? formatItems(value.map(String)) : '');

/** Return the profiles in the user's file, or those that are active. */
export const readProfiles = (settings: Setting[], from: 'stored' | 'value'): [string, Profile][] =>
  Object.entries(asMap(settings.find(({ key }) => key === 'profiles')?.[from])).map(([name, value]) => [
    name,
    asMap(value),
  ]);

export const profileNames = (settings: Setting[], from: 'stored' | 'value'): string[] =>
  readProfiles(settings, from).map(([name]) => name);

export function toFields(profile: Profile): ProfileFields {
  const approval = asMap(profile.approval);
  return {
    packs: asLines(profile.packs),
    servers: asLines(profile.servers),
    exclude: asLines(profile.exclude),
    roots: asLines(profile.roots),
    allow: asLines(approval.allow),
    deny: asLines(approval.deny),
    expose: typeof profile.expose === 'string' ? profile.expose : '',
    mode: typeof approval.mode === 'string' ? approval.mode : 'allow',
  };
}

/** Return the profile to store: without what has its default, and with everything that the form does not show. */
export function toProfile(fields: ProfileFields, before: Profile): Profile {
  const approval = { ...asMap(before.approval) };
  setOrDelete(approval, 'mode', fields.mode === 'allow' ? undefined : fields.mode);
  for (const name of APPROVAL_LISTS) setOrDelete(approval, name, nonEmpty(fields[name]));
  const profile: Profile = { ...before };
  for (const name of LISTS) setOrDelete(profile, name, nonEmpty(fields[name]));
  setOrDelete(profile, 'expose', fields.expose || undefined);
  setOrDelete(profile, 'approval', Object.keys(approval).length ? approval : undefined);
  return profile;
}

function nonEmpty(text: string): string[] | undefined {
  const items = parseItems(text);
  return items.length ? items : undefined;
}

function setOrDelete(map: Record<string, unknown>, name: string, value: unknown): void {
  if (value === undefined) delete map[name];
  else map[name] = value;
}
