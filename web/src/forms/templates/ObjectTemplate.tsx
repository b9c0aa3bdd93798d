import type { ObjectFieldTemplateProps } from '@rjsf/utils';
import css from '../forms.module.css';
import { FieldGroup } from './FieldGroup';

export function ObjectTemplate({ title, description, properties, fieldPathId, required }: ObjectFieldTemplateProps) {
  const fields = (
    <div className={css.fields}>
      {properties.map(({ name, content }) => (
        <div key={name}>{content}</div>
      ))}
    </div>
  );
  if (fieldPathId.path.length === 0) return fields;
  return (
    <FieldGroup title={title} required={required} hint={description}>
      {fields}
    </FieldGroup>
  );
}
