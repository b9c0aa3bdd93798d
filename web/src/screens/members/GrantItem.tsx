import { ActionIcon } from '@mantine/core';
import { type Grant, useRemoveGrant } from '~/api/members';
import { Icon } from '~/components/Icon';
import { notifyError } from '~/components/notifications';
import { Tag } from '~/components/Tag';
import { useMessages } from '~/i18n';
import { EFFECT_ICONS, EFFECT_TONES } from '~/screens/access/effects';
import css from './members.module.css';

interface Props {
  grant: Grant;
  /** The name of the member. */
  name: string;
}

/** A grant, with a button that removes it. */
export function GrantItem({ grant, name }: Props) {
  const messages = useMessages();
  const removal = useRemoveGrant(grant.id);
  return (
    <div className={css.grant}>
      <code>{grant.pattern}</code>
      <Tag tone={EFFECT_TONES[grant.effect]} icon={EFFECT_ICONS[grant.effect]}>
        {messages.access.effects[grant.effect]}
      </Tag>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="sm"
        loading={removal.isPending}
        aria-label={messages.members.removeGrant(grant.pattern, name)}
        onClick={() => removal.mutate(undefined, { onError: notifyError })}
      >
        <Icon name="trash" size={15} />
      </ActionIcon>
    </div>
  );
}
