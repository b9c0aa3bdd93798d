// The inputs of a form that is made from a schema.
import { Checkbox, Select, Textarea, TextInput } from '@mantine/core';
import { enumOptionsIndexForValue, enumOptionsValueForIndex, type FieldProps, type WidgetProps } from '@rjsf/utils';
import { useState } from 'react';
import { parsed } from '~/api/json';
import { useWords } from '~/i18n';

const told = (props: WidgetProps) => ({
  id: props.id,
  label: props.label || props.name,
  withAsterisk: props.required,
  description: props.schema.description,
  error: props.rawErrors?.join(' '),
  disabled: props.disabled,
  placeholder: props.placeholder,
});

const emptied = (value: string) => (value === '' ? undefined : value);

/** Texts and numbers. */
export function Input(props: WidgetProps) {
  const { schema, value, onChange } = props;
  if (schema.type === 'integer' || schema.type === 'number') return <NumberField {...props} />;
  return <TextInput {...told(props)} value={value ?? ''} onChange={(event) => onChange(emptied(event.currentTarget.value))} />;
}

/** A number as it is typed: what is none yet, or none that can be kept whole, is handed on as it stands, and refused. */
function NumberField(props: WidgetProps) {
  const [text, setText] = useState(() => (props.value === undefined ? '' : String(props.value)));
  const take = (given: string) => {
    const number = Number(given);
    const isWhole = !Number.isInteger(number) || Number.isSafeInteger(number);
    setText(given);
    props.onChange(given.trim() === '' ? undefined : Number.isFinite(number) && isWhole ? number : given);
  };
  return <TextInput {...told(props)} inputMode="decimal" value={text} onChange={(event) => take(event.currentTarget.value)} />;
}

export function LongText(props: WidgetProps) {
  return <Textarea {...told(props)} autosize minRows={3} value={props.value ?? ''} onChange={(event) => props.onChange(emptied(event.currentTarget.value))} />;
}

export function Check(props: WidgetProps) {
  const { placeholder: _none, withAsterisk: _star, ...rest } = told(props);
  const checked = (props.value ?? props.options.fallback) === true;
  return <Checkbox {...rest} checked={checked} onChange={(event) => props.onChange(event.currentTarget.checked)} />;
}

export function Choice(props: WidgetProps) {
  const words = useWords();
  const options = props.options.enumOptions ?? [];
  const chosen = enumOptionsIndexForValue(props.value, options);
  return (
    <Select
      {...told(props)}
      placeholder={props.placeholder || words.tester.form.choose}
      data={options.map((option, at) => ({ value: String(at), label: String(option.label) }))}
      value={typeof chosen === 'string' ? chosen : null}
      clearable={!props.required}
      clearButtonProps={{ 'aria-label': words.common.remove }}
      onChange={(at) => props.onChange(at === null ? undefined : enumOptionsValueForIndex(at, options))}
    />
  );
}

/** Anything that has no input of its own, as JSON. */
export function JsonField({ schema, name, formData, onChange, required, rawErrors, fieldPathId, disabled }: FieldProps) {
  const words = useWords();
  const [text, setText] = useState(() => (formData === undefined ? '' : JSON.stringify(formData, null, 2)));
  const [isBad, setBad] = useState(false);
  const take = (given: string) => {
    const value = parsed(given);
    const isBlank = given.trim() === '';
    setText(given);
    setBad(value === undefined && !isBlank);
    // What is no JSON goes on as the text it is: then it is checked as one, and not what stood there before.
    onChange(value === undefined && !isBlank ? given : value, fieldPathId.path);
  };
  return (
    <Textarea
      id={fieldPathId.$id}
      label={`${schema.title ?? name} (JSON)`}
      description={schema.description}
      withAsterisk={required}
      disabled={disabled}
      error={isBad ? words.tester.badJson : rawErrors?.join(' ')}
      styles={{ input: { fontFamily: 'var(--mono)', fontSize: 13 } }}
      autosize
      minRows={2}
      value={text}
      onChange={(event) => take(event.currentTarget.value)}
    />
  );
}
