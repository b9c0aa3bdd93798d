import type { ToolDecisions } from '~/api/access';
import { Tag } from '~/components/Tag';
import { ToolName } from '~/components/ToolName';
import { useMessages } from '~/i18n';
import { EFFECT_ICONS, EFFECT_TONES } from '~/screens/access/effects';
import { RuleText } from '~/screens/access/RuleText';
import css from './memberAccess.module.css';
import { callerKey } from './memberCaller';

/** What a member may do with a tool: the deciding rule, and the others that apply. */
export function MemberDecision({ tool, caller }: { tool: ToolDecisions; caller: string }) {
  const { access, memberAccess } = useMessages();
  const decision = tool.decisions.find((each) => callerKey(each) === caller) ?? tool.decisions[0];
  if (!decision) return null;
  const [deciding, ...others] = decision.rules;
  return (
    <li aria-label={tool.name} className={css.tool}>
      <ToolName name={tool.name} />
      <Tag tone={EFFECT_TONES[decision.effect]} icon={EFFECT_ICONS[decision.effect]}>
        {access.effects[decision.effect]}
      </Tag>
      <div className={css.rules}>
        {deciding && (
          <p>
            <span className={css.other}>{memberAccess.decidedBy}</span> <RuleText rule={deciding} />
          </p>
        )}
        {others.map((rule) => (
          <p key={`${rule.origin} ${rule.value}`} className={css.other}>
            {memberAccess.alsoApplies} <RuleText rule={rule} />
          </p>
        ))}
      </div>
    </li>
  );
}
