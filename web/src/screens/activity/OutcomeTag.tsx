import type { ActivityRecord } from '~/api/activity';
import { Tag } from '~/components/Tag';
import { useMessages } from '~/i18n';

/** Whether a call succeeded, or why it failed. */
export function OutcomeTag({ record: { ok, reason } }: { record: ActivityRecord }) {
  const messages = useMessages();
  return <Tag tone={ok ? 'success' : 'danger'}>{ok ? messages.activity.ok : reason?.replaceAll('_', ' ')}</Tag>;
}
