import { Textarea } from '@mantine/core';
import type { WidgetProps } from '@rjsf/utils';
import { emptyToUndefined, inputProps } from './inputProps';

export function TextareaWidget(props: WidgetProps) {
  return (
    <Textarea
      {...inputProps(props)}
      autosize
      minRows={3}
      value={props.value ?? ''}
      onChange={(event) => props.onChange(emptyToUndefined(event.currentTarget.value))}
    />
  );
}
