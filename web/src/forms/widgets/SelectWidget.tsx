import { Select } from '@mantine/core';
import { enumOptionsIndexForValue, enumOptionsValueForIndex, type WidgetProps } from '@rjsf/utils';
import { useMessages } from '~/i18n';
import { inputProps } from './inputProps';
import { MultiSelectWidget } from './MultiSelectWidget';

/** Selects one of the values of an enum, or several of them. The values can have any type, so options are identified by index. */
export function SelectWidget(props: WidgetProps) {
  const messages = useMessages();
  if (props.multiple) return <MultiSelectWidget {...props} />;
  const options = props.options.enumOptions ?? [];
  const selected = enumOptionsIndexForValue(props.value, options);
  return (
    <Select
      {...inputProps(props)}
      placeholder={props.placeholder || messages.tester.form.select}
      data={options.map(({ label }, index) => ({ value: String(index), label: String(label) }))}
      value={typeof selected === 'string' ? selected : null}
      clearable={!props.required}
      clearButtonProps={{ 'aria-label': messages.common.clear }}
      onChange={(index) => props.onChange(index === null ? undefined : enumOptionsValueForIndex(index, options))}
    />
  );
}
