import { PasswordInput, Select, Textarea, TextInput } from '@mantine/core';
import type { RegistryInput } from '~/api/registry';
import { useMessages } from '~/i18n';

interface Props {
  input: RegistryInput;
  texts: string[];
  error: string | undefined;
  onChange: (texts: string[]) => void;
}

/** A field for one input. Its texts were written by the publisher of the server. */
export function InputField({ input, texts, error, onChange }: Props) {
  const messages = useMessages();
  const hint = input.isRepeated ? messages.registry.onePerLine : messages.registry.inputKind[input.kind];
  const field = {
    label: input.name,
    description: [input.description, hint].filter(Boolean).join(' · '),
    placeholder: input.default ? messages.registry.default(input.default) : undefined,
    error,
    withAsterisk: input.isRequired,
    autoComplete: 'off',
    spellCheck: false,
  };
  const changeText = (event: { currentTarget: { value: string } }) => onChange([event.currentTarget.value]);
  if (input.kind === 'secret') {
    return <PasswordInput {...field} autoComplete="new-password" value={texts[0] ?? ''} onChange={changeText} />;
  }
  if (input.choices.length) {
    const choices = [...new Set(input.choices)];
    return (
      <Select
        {...field}
        data={choices}
        value={texts[0] ?? null}
        clearable={!input.isRequired}
        onChange={(choice) => onChange(choice === null ? [] : [choice])}
      />
    );
  }
  if (input.isRepeated) {
    const changeLines = (event: { currentTarget: { value: string } }) =>
      onChange(event.currentTarget.value.split('\n'));
    return <Textarea {...field} rows={3} value={texts.join('\n')} onChange={changeLines} />;
  }
  return <TextInput {...field} value={texts[0] ?? ''} onChange={changeText} />;
}
