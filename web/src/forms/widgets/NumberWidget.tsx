import { TextInput } from '@mantine/core';
import type { WidgetProps } from '@rjsf/utils';
import { useState } from 'react';
import { inputProps } from './inputProps';

/** A number input that preserves the text as typed, such as `-0.` on the way to `-0.5`. */
export function NumberWidget(props: WidgetProps) {
  const { value, onChange } = props;
  const [text, setText] = useState(() => (value === undefined ? '' : String(value)));
  const handleText = (newText: string) => {
    setText(newText);
    onChange(parseNumber(newText));
  };
  return (
    <TextInput
      {...inputProps(props)}
      inputMode="decimal"
      value={text}
      onChange={(event) => handleText(event.currentTarget.value)}
    />
  );
}

/** Parse a number. Text that is not a number, or would lose precision, is returned as is and fails validation. */
function parseNumber(text: string): number | string | undefined {
  if (text.trim() === '') return undefined;
  const number = Number(text);
  const isExact = !Number.isInteger(number) || Number.isSafeInteger(number);
  return Number.isFinite(number) && isExact ? number : text;
}
