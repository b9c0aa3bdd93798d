import { Button } from '@mantine/core';
import type { ArrayFieldTemplateProps } from '@rjsf/utils';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import css from '../forms.module.css';
import { FieldGroup } from './FieldGroup';

export function ArrayTemplate(props: ArrayFieldTemplateProps) {
  const { title, schema, items, canAdd, onAddClick, required, rawErrors } = props;
  const messages = useMessages();
  return (
    <FieldGroup title={title} required={required} hint={schema.description}>
      {items}
      {rawErrors?.length ? <p className={css.error}>{rawErrors.join(' ')}</p> : null}
      {canAdd && (
        <Button size="compact-sm" variant="default" leftSection={<Icon name="plus" size={14} />} onClick={onAddClick}>
          {messages.tester.form.addItem}
        </Button>
      )}
    </FieldGroup>
  );
}
