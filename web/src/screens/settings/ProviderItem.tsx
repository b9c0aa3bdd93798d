import { ActionIcon, Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { Schemas } from '~/api/client';
import { useDeleteProviderKey, useSetDefaultProvider } from '~/api/settings';
import { DeleteDialog } from '~/components/DeleteDialog';
import { Icon } from '~/components/Icon';
import { notify, notifyError } from '~/components/notifications';
import { Tag } from '~/components/Tag';
import { useMessages } from '~/i18n';
import { ProviderKeyDialog } from './ProviderKeyDialog';
import css from './settings.module.css';

interface Props {
  provider: Schemas['ProviderResponse'];
  isDefault: boolean;
  canEdit: boolean;
}

/** A provider of chat models: its key, and whether it is the default. */
export function ProviderItem({ provider, isDefault, canEdit }: Props) {
  const messages = useMessages();
  const texts = messages.configuration;
  const { name, model, key } = provider;
  const [isSetting, keyDialog] = useDisclosure(false);
  const [isDeleting, deleteDialog] = useDisclosure(false);
  const deletion = useDeleteProviderKey();
  const choice = useSetDefaultProvider();
  const isStored = key === 'secrets.yaml';
  const needsKey = key !== 'not needed';
  return (
    <li aria-label={name}>
      <strong>{name}</strong>
      <code>{model}</code>
      {isDefault && <Tag tone="accent">{messages.settings.defaultModel}</Tag>}
      <Tag tone={key === 'missing' ? 'warning' : 'neutral'}>{messages.settings.key[key]}</Tag>
      {canEdit && (
        <span className={css.actions}>
          {!isDefault && (
            <Button
              size="compact-sm"
              variant="default"
              aria-label={texts.makeDefaultLabel(name)}
              loading={choice.isPending}
              onClick={() => void choice.mutateAsync(name).then(() => notify(texts.isDefault(name)), notifyError)}
            >
              {texts.makeDefault}
            </Button>
          )}
          {needsKey && (
            <Button
              size="compact-sm"
              variant="default"
              aria-label={isStored ? texts.replaceKeyLabel(name) : texts.setKeyLabel(name)}
              onClick={keyDialog.open}
            >
              {isStored ? texts.replaceKey : texts.setKey}
            </Button>
          )}
          {isStored && (
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={texts.deleteKeyLabel(name)}
              onClick={deleteDialog.open}
            >
              <Icon name="trash" size={16} />
            </ActionIcon>
          )}
        </span>
      )}
      {isSetting && <ProviderKeyDialog provider={name} onClose={keyDialog.close} />}
      <DeleteDialog
        opened={isDeleting}
        title={texts.deleteKeyTitle(name)}
        text={texts.deleteKeyText}
        isDeleting={deletion.isPending}
        error={deletion.error}
        onConfirm={() => void deletion.mutateAsync(name).then(deleteDialog.close, () => {})}
        onClose={deleteDialog.close}
      />
    </li>
  );
}
