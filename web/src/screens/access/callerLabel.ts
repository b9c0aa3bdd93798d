import type { Decision } from '~/api/access';
import type { Messages } from '~/i18n/en';

/** Return the words for a kind of caller. */
export const callerLabel = (messages: Messages, { interface: name, profile }: Decision) =>
  profile ? messages.access.profile(profile) : messages.access.callers[name];
