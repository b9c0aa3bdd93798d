// How the parts of such a form are put together.
import { ActionIcon, Button } from '@mantine/core';
import type { ArrayFieldItemTemplateProps, ArrayFieldTemplateProps, FieldTemplateProps, ObjectFieldTemplateProps } from '@rjsf/utils';
import type { ReactNode } from 'react';
import { useWords } from '~/i18n';
import { Icon } from '~/parts/Icon';
import css from './forms.module.css';

export function Field({ children, hidden }: FieldTemplateProps) {
  return hidden ? null : <div>{children}</div>;
}

export function ObjectFields({ title, description, properties, fieldPathId, required }: ObjectFieldTemplateProps) {
  const inputs = properties.map((one) => <div key={one.name}>{one.content}</div>);
  if (fieldPathId.path.length === 0) return <div className={css.fields}>{inputs}</div>;
  return (
    <Group title={title} required={required} hint={description}>
      <div className={css.fields}>{inputs}</div>
    </Group>
  );
}

function Group({ title, required, hint, children }: { title: string; required?: boolean; hint?: ReactNode; children: ReactNode }) {
  return (
    <fieldset className={css.group}>
      <legend>
        {title}
        {required && <span className={css.star}> *</span>}
      </legend>
      {hint && <p className={css.hint}>{hint}</p>}
      {children}
    </fieldset>
  );
}

export function Items({ title, schema, items, canAdd, onAddClick, required, rawErrors }: ArrayFieldTemplateProps) {
  const words = useWords();
  return (
    <Group title={title} required={required} hint={schema.description}>
      {items}
      {rawErrors?.length ? <p className={css.error}>{rawErrors.join(' ')}</p> : null}
      {canAdd && (
        <Button size="compact-sm" variant="default" leftSection={<Icon name="plus" size={14} />} onClick={onAddClick}>
          {words.tester.form.add}
        </Button>
      )}
    </Group>
  );
}

export function Item({ children, buttonsProps, index }: ArrayFieldItemTemplateProps) {
  const words = useWords();
  return (
    <div className={css.item}>
      <div>{children}</div>
      {buttonsProps.hasRemove && (
        <ActionIcon variant="subtle" color="gray" aria-label={`${words.tester.form.remove} ${index + 1}`} onClick={buttonsProps.onRemoveItem}>
          <Icon name="close" size={16} />
        </ActionIcon>
      )}
    </div>
  );
}

export function Nothing() {
  return null;
}
