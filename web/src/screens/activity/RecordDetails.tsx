import type { ActivityDetails } from '~/api/activity';
import { Card } from '~/components/Card';
import { useMessages } from '~/i18n';
import css from './activity.module.css';
import { RecordActions } from './RecordActions';
import { RecordBody } from './RecordBody';
import { RecordFacts } from './RecordFacts';

/** The arguments and the result of one call, who made it and why it was allowed. */
export function RecordDetails({ call }: { call: ActivityDetails }) {
  const { activity } = useMessages();
  return (
    <Card className={css.details}>
      <section aria-label={activity.details} className={css.details}>
        <h2>
          <code>{call.tool}</code>
        </h2>
        <RecordFacts call={call} />
        {call.kind === 'call' && <RecordActions call={call} />}
        <RecordBody label={call.kind === 'run' ? activity.code : activity.arguments} text={call.arguments} />
        <RecordBody label={call.ok ? activity.result : activity.error} text={call.result} />
      </section>
    </Card>
  );
}
