import { ActionIcon } from '@mantine/core';
import { useChangeLists } from '~/api/settings';
import { Icon } from '~/components/Icon';
import { notify, notifyError } from '~/components/notifications';
import { Tag } from '~/components/Tag';
import { useMessages } from '~/i18n';
import { type PatternRule, ruleKey } from './rules';
import css from './settings.module.css';

export function RuleItem({ rule, canEdit }: { rule: PatternRule; canEdit: boolean }) {
  const texts = useMessages().configuration;
  const removal = useChangeLists();
  const { pattern, decision, profile, isOwn } = rule;
  const remove = () =>
    void removal
      .mutateAsync({ item: pattern, remove: [ruleKey(decision, profile)] })
      .then(() => notify(texts.ruleRemoved(pattern)), notifyError);
  return (
    <li aria-label={pattern}>
      <code>{pattern}</code>
      <Tag tone={decision === 'deny' ? 'danger' : 'success'}>{texts.decisions[decision]}</Tag>
      <span className={css.muted}>{profile ? texts.profileNamed(profile) : texts.everyCaller}</span>
      {!isOwn && <Tag tone="warning">{texts.fromProject}</Tag>}
      {canEdit && isOwn && (
        <span className={css.actions}>
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={texts.removeRule(pattern)}
            loading={removal.isPending}
            onClick={remove}
          >
            <Icon name="trash" size={16} />
          </ActionIcon>
        </span>
      )}
    </li>
  );
}
