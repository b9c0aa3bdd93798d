import type { WidgetProps } from '@rjsf/utils';

/** The props that all inputs share. */
export function inputProps(props: WidgetProps) {
  return {
    id: props.id,
    label: props.label || props.name,
    withAsterisk: props.required,
    description: props.schema.description,
    error: props.rawErrors?.join(' '),
    disabled: props.disabled,
    placeholder: props.placeholder,
  };
}

/** An empty input omits the value. */
export const emptyToUndefined = (text: string) => (text === '' ? undefined : text);
