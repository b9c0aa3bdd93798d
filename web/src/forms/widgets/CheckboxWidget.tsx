import { Checkbox } from '@mantine/core';
import type { WidgetProps } from '@rjsf/utils';
import { inputProps } from './inputProps';

export function CheckboxWidget(props: WidgetProps) {
  const { placeholder: _placeholder, withAsterisk: _withAsterisk, ...rest } = inputProps(props);
  const checked = (props.value ?? props.options.fallback) === true;
  return <Checkbox {...rest} checked={checked} onChange={(event) => props.onChange(event.currentTarget.checked)} />;
}
