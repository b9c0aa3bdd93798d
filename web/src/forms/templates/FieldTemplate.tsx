import type { FieldTemplateProps } from '@rjsf/utils';

export function FieldTemplate({ children, hidden }: FieldTemplateProps) {
  return hidden ? null : <div>{children}</div>;
}
