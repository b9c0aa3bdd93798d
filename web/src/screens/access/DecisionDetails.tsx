import type { Decision } from '~/api/access';
import { InlineMarkdown } from '~/components/InlineMarkdown';
import { useMessages } from '~/i18n';
import css from './access.module.css';
import { CommandLine } from './CommandLine';
import { callerLabel } from './callerLabel';
import { allowCommands, denyCommand } from './commands';
import { RuleText } from './RuleText';

interface Props {
  id: string;
  tool: string;
  decision: Decision;
  /** Whether to name the caller. */
  withHeading?: boolean;
}

/** The rules behind a decision, the deciding one first, and the commands that change it. */
export function DecisionDetails({ id, tool, decision, withHeading = false }: Props) {
  const messages = useMessages();
  const caller = callerLabel(messages, decision);
  const label = messages.access.decision(tool, caller, messages.access.effects[decision.effect]);
  const [deciding, ...others] = decision.rules;
  const allow = allowCommands(tool, decision);
  const deny = denyCommand(tool, decision);
  // A profile only restricts: what the other settings say is changed for all callers.
  const isForAll = allow.some((command) => !command.includes(' --profile '));
  const scope = (forAll: boolean) => (forAll ? messages.access.forAll : messages.access.forProfile(decision.profile));
  return (
    <section id={id} className={css.details} aria-label={label}>
      {withHeading && <h2>{caller}</h2>}
      <dl>
        <dt>{messages.access.decidedBy}</dt>
        <dd>{deciding && <RuleText rule={deciding} />}</dd>
        {others.length > 0 && <dt>{messages.access.alsoApplies}</dt>}
        {others.map((rule) => (
          <dd key={`${rule.origin} ${rule.value}`}>
            <RuleText rule={rule} />
          </dd>
        ))}
      </dl>
      {decision.effect === 'hidden' && deciding && (
        <p>
          <InlineMarkdown
            text={deciding.origin.includes(' ') ? messages.access.enable : messages.access.edit(deciding.origin)}
          />
        </p>
      )}
      {allow.length > 0 && <CommandLine label={messages.access.toAllow(scope(isForAll))} command={allow.join('\n')} />}
      {deny && <CommandLine label={messages.access.toDeny(scope(!decision.profile))} command={deny} />}
      {(allow.length > 0 || deny) && (
        <p>
          <InlineMarkdown text={messages.access.reload} />
        </p>
      )}
    </section>
  );
}
