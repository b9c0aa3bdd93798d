// The ways in which a member calls tools.
import type { Decision } from '~/api/access';
import type { Messages } from '~/i18n/en';

/** Return a short name for a kind of calls, for the address of the page. */
export const callerKey = ({ interface: name, profile }: Decision): string => (profile ? `${name}:${profile}` : name);

/** Return the words for a kind of calls. */
export const memberCallerLabel = (messages: Messages, { interface: name, profile }: Decision): string =>
  profile ? messages.access.profile(profile) : messages.memberAccess.callers[name];
