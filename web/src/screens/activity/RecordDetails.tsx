import type { ActivityDetails } from '~/api/activity';
import { useToolByName } from '~/api/tools';
import { Card } from '~/components/Card';
import { ToolName } from '~/components/ToolName';
import { useMessages } from '~/i18n';
import { SaveAsToolButton } from '~/screens/save-code/SaveAsToolButton';
import css from './activity.module.css';
import { RecordActions } from './RecordActions';
import { RecordBody } from './RecordBody';
import { RecordFacts } from './RecordFacts';
import { isCut } from './recordText';

/** The arguments and the result of one call, who made it and why it was allowed. */
export function RecordDetails({ call }: { call: ActivityDetails }) {
  const { activity } = useMessages();
  const { data: tool } = useToolByName(call.tool, call.version);
  return (
    <Card className={css.details}>
      <section aria-label={activity.details} className={css.details}>
        <h2>
          <ToolName name={call.tool} title={tool?.displayName} />
        </h2>
        <RecordFacts call={call} />
        {call.kind === 'call' && <RecordActions call={call} />}
        {call.kind === 'run' && !isCut(call.arguments) && (
          <div className={css.actions}>
            <SaveAsToolButton code={call.arguments} />
          </div>
        )}
        <RecordBody label={call.kind === 'run' ? activity.code : activity.arguments} text={call.arguments} />
        <RecordBody label={call.ok ? activity.result : activity.error} text={call.result} />
      </section>
    </Card>
  );
}
