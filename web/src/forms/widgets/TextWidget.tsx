import { TextInput } from '@mantine/core';
import type { WidgetProps } from '@rjsf/utils';
import { emptyToUndefined, inputProps } from './inputProps';
import { NumberWidget } from './NumberWidget';

/** The input for texts and numbers. */
export function TextWidget(props: WidgetProps) {
  const { schema, value, options, onChange } = props;
  if (schema.type === 'integer' || schema.type === 'number') return <NumberWidget {...props} />;
  return (
    <TextInput
      {...inputProps(props)}
      type={typeof options.inputType === 'string' ? options.inputType : 'text'}
      value={value ?? ''}
      onChange={(event) => onChange(emptyToUndefined(event.currentTarget.value))}
    />
  );
}
