import { MultiSelect } from '@mantine/core';
import { enumOptionsIndexForValue, enumOptionsValueForIndex, type WidgetProps } from '@rjsf/utils';
import { useMessages } from '~/i18n';
import { inputProps } from './inputProps';

/** Selects any number of the values of an enum. */
export function MultiSelectWidget(props: WidgetProps) {
  const messages = useMessages();
  const options = props.options.enumOptions ?? [];
  const selected = enumOptionsIndexForValue(props.value ?? [], options, true);
  const handleChange = (indexes: string[]) =>
    props.onChange(indexes.length === 0 ? undefined : enumOptionsValueForIndex(indexes, options));
  return (
    <MultiSelect
      {...inputProps(props)}
      placeholder={props.placeholder || messages.tester.form.select}
      data={options.map(({ label }, index) => ({ value: String(index), label: String(label) }))}
      value={Array.isArray(selected) ? selected : []}
      onChange={handleChange}
    />
  );
}
