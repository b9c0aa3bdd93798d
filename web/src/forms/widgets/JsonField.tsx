import { Textarea } from '@mantine/core';
import type { FieldProps } from '@rjsf/utils';
import { useState } from 'react';
import { parseJson } from '~/api/json';
import { useMessages } from '~/i18n';

/** Edits a value as JSON. */
export function JsonField(props: FieldProps) {
  const { schema, name, formData, onChange, required, rawErrors, fieldPathId, disabled } = props;
  const messages = useMessages();
  const [text, setText] = useState(() => (formData === undefined ? '' : JSON.stringify(formData, null, 2)));
  const [isInvalid, setInvalid] = useState(false);
  const handleText = (newText: string) => {
    const value = parseJson(newText);
    const isBadJson = value === undefined && newText.trim() !== '';
    setText(newText);
    setInvalid(isBadJson);
    // Invalid JSON is passed on as text, so that validation fails instead of using the previous value.
    onChange(isBadJson ? newText : value, fieldPathId.path);
  };
  return (
    <Textarea
      id={fieldPathId.$id}
      label={`${schema.title ?? name} (JSON)`}
      description={schema.description}
      withAsterisk={required}
      disabled={disabled}
      error={isInvalid ? messages.errors.json : rawErrors?.join(' ')}
      styles={{ input: { fontFamily: 'var(--monospace)', fontSize: 13 } }}
      autosize
      minRows={2}
      value={text}
      onChange={(event) => handleText(event.currentTarget.value)}
    />
  );
}
