import { ActionIcon, Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { fetchSetting, useResetSetting } from '~/api/settings';
import { DeleteDialog } from '~/components/DeleteDialog';
import { Icon } from '~/components/Icon';
import { notify } from '~/components/notifications';
import { Tag } from '~/components/Tag';
import { useMessages } from '~/i18n';
import { type Profile, toFields } from './profiles';
import css from './settings.module.css';

interface Props {
  name: string;
  profile: Profile;
  /** Whether it is in the user's file, and not in that of the project. */
  isOwn: boolean;
  canEdit: boolean;
  onEdit: () => void;
}

export function ProfileItem({ name, profile, isOwn, canEdit, onEdit }: Props) {
  const texts = useMessages().configuration;
  const deletion = useResetSetting();
  const [isDeleting, dialog] = useDisclosure(false);
  const { packs, servers, expose, mode } = toFields(profile);
  const included = [packs, servers].filter(Boolean).join('\n').split('\n').filter(Boolean);
  const confirm = async () => {
    const { digest } = await fetchSetting(`profiles.${name}`);
    await deletion.mutateAsync({ key: `profiles.${name}`, digest });
    dialog.close();
    notify(texts.profileDeleted(name));
  };
  return (
    <li aria-label={name}>
      <strong>{name}</strong>
      <code>{included.join(', ') || texts.allTools}</code>
      {expose && <Tag>{expose}</Tag>}
      {mode !== 'allow' && <Tag tone="warning">{texts.modes[mode as 'ask' | 'deny']}</Tag>}
      {!isOwn && <Tag tone="warning">{texts.fromProject}</Tag>}
      {canEdit && isOwn && (
        <span className={css.actions}>
          <Button size="compact-sm" variant="default" aria-label={texts.editProfileLabel(name)} onClick={onEdit}>
            {texts.editProfile}
          </Button>
          <ActionIcon variant="subtle" color="gray" aria-label={texts.deleteProfileLabel(name)} onClick={dialog.open}>
            <Icon name="trash" size={16} />
          </ActionIcon>
        </span>
      )}
      <DeleteDialog
        opened={isDeleting}
        title={texts.deleteProfileTitle(name)}
        text={texts.deleteProfileText}
        isDeleting={deletion.isPending}
        error={deletion.error}
        onConfirm={() => void confirm().catch(() => {})}
        onClose={dialog.close}
      />
    </li>
  );
}
