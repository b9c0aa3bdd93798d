import { Checkbox, SegmentedControl, Select, TextInput } from '@mantine/core';
import { useMessages } from '~/i18n';
import type { Placeholder } from './recipe';
import css from './toolEditor.module.css';

interface Props {
  name: string;
  placeholder: Placeholder;
  onChange: (changes: Partial<Placeholder>) => void;
}

export function PlaceholderField({ name, placeholder, onChange }: Props) {
  const messages = useMessages();
  return (
    <fieldset className={css.placeholder} aria-label={name}>
      <code>{name}</code>
      <SegmentedControl
        size="xs"
        aria-label={`${name}: ${messages.editor.valueSource}`}
        value={placeholder.isSecret ? 'secret' : 'argument'}
        data={[
          { value: 'argument', label: messages.editor.argument },
          { value: 'secret', label: messages.editor.secretValue },
        ]}
        onChange={(source) => onChange({ isSecret: source === 'secret' })}
      />
      {placeholder.isSecret ? (
        <span className={css.muted}>{messages.editor.secretHint}</span>
      ) : (
        <>
          <Select
            className={css.argType}
            aria-label={`${name}: ${messages.editor.argType}`}
            data={Object.entries(messages.editor.argTypes).map(([value, label]) => ({ value, label }))}
            value={placeholder.type}
            allowDeselect={false}
            onChange={(type) => onChange({ type: (type ?? 'string') as Placeholder['type'] })}
          />
          <TextInput
            className={css.argHint}
            aria-label={`${name}: ${messages.editor.argHint}`}
            placeholder={messages.editor.argHint}
            value={placeholder.description}
            onChange={(event) => onChange({ description: event.currentTarget.value })}
          />
          <Checkbox
            label={messages.editor.argRequired}
            checked={placeholder.required}
            onChange={(event) => onChange({ required: event.currentTarget.checked })}
          />
        </>
      )}
    </fieldset>
  );
}
