import type { ActivityDetails } from '~/api/activity';
import { useLanguage } from '~/i18n';
import css from './activity.module.css';
import { OutcomeTag } from './OutcomeTag';
import { formatBytes, parseDecision } from './recordText';

/** Who made a call, when, how long it took, and which rule decided about it. */
export function RecordFacts({ call }: { call: ActivityDetails }) {
  const { locale, messages } = useLanguage();
  const { activity } = messages;
  const started = new Date(call.startedAt * 1000);
  const decision = parseDecision(call.decision);
  const facts: [string, string][] = [
    [activity.started, started.toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'medium' })],
    [activity.duration, messages.common.duration(call.durationMs)],
    [activity.size, activity.bytes(formatBytes(call.bytesIn), formatBytes(call.bytesOut))],
    [activity.interface, call.interface],
    [activity.client, call.client],
    [activity.profile, call.profile],
    [activity.version, call.version],
    [activity.source, call.source === call.interface ? '' : call.source],
    [activity.session, call.session],
  ];
  return (
    <dl className={css.facts}>
      <div>
        <dt>{activity.outcome}</dt>
        <dd>
          <OutcomeTag record={call} />
        </dd>
      </div>
      {facts.map(
        ([name, value]) =>
          value && (
            <div key={name}>
              <dt>{name}</dt>
              <dd title={value}>{value}</dd>
            </div>
          ),
      )}
      {call.decision && (
        <div>
          <dt>{activity.decision}</dt>
          <dd>
            {decision ? messages.access.effects[decision.effect] : call.decision}
            {decision?.isApproved && `, ${activity.approved}`}
            {decision && (
              <>
                {' ('}
                {decision.rule.includes(' ') ? decision.rule : <code>{decision.rule}</code>})
              </>
            )}
          </dd>
        </div>
      )}
    </dl>
  );
}
