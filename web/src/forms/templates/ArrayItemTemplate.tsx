import { ActionIcon } from '@mantine/core';
import type { ArrayFieldItemTemplateProps } from '@rjsf/utils';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import css from '../forms.module.css';

export function ArrayItemTemplate({ children, buttonsProps, index }: ArrayFieldItemTemplateProps) {
  const messages = useMessages();
  return (
    <div className={css.item}>
      <div>{children}</div>
      {buttonsProps.hasRemove && (
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={messages.common.removeItem(index + 1)}
          onClick={buttonsProps.onRemoveItem}
        >
          <Icon name="close" size={16} />
        </ActionIcon>
      )}
    </div>
  );
}
