import { useSettings } from '~/api/settings';
import { Card } from '~/components/Card';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { DecidingRule } from './DecidingRule';
import { profileNames } from './profiles';
import { RuleForm } from './RuleForm';
import { RuleItem } from './RuleItem';
import { listRules } from './rules';
import { SettingGroup } from './SettingGroup';
import { APPROVAL_KEYS } from './sectionKeys';
import css from './settings.module.css';

/** What may run without approval, what never runs, and which rule decides about a tool. */
export function Rules() {
  const texts = useMessages().configuration;
  return (
    <>
      <Card>
        <h2>{texts.patternRules}</h2>
        <p className={css.lead}>{texts.rulesLead}</p>
        <QueryView query={useSettings()}>
          {({ settings, canEdit }) => {
            const rules = listRules(settings);
            return (
              <>
                {rules.length === 0 && <p className={css.muted}>{texts.noRules}</p>}
                <ul className={css.models} aria-label={texts.patternRules}>
                  {rules.map((rule) => (
                    <RuleItem key={`${rule.profile} ${rule.decision} ${rule.pattern}`} rule={rule} canEdit={canEdit} />
                  ))}
                </ul>
                {canEdit && <RuleForm profiles={profileNames(settings, 'stored')} />}
              </>
            );
          }}
        </QueryView>
      </Card>
      <SettingGroup title={texts.otherRules} keys={APPROVAL_KEYS} />
      <DecidingRule />
    </>
  );
}
