import { Select, Switch, Textarea, TextInput } from '@mantine/core';
import type { Setting } from '~/api/settings';
import { useMessages } from '~/i18n';
import { fieldKind } from './settingText';

interface Props {
  setting: Setting;
  text: string;
  disabled: boolean;
  error: string | undefined;
  /** Called while the user types. */
  onType: (text: string) => void;
  /** Called with a value that is saved at once. */
  onChoose: (value: unknown) => void;
}

/** A field for one setting, by its type. */
export function SettingInput({ setting, text, disabled, error, onType, onChoose }: Props) {
  const texts = useMessages().configuration;
  const kind = fieldKind(setting);
  const common = { 'aria-label': setting.key, disabled, error };
  if (kind === 'switch') {
    return <Switch {...common} checked={text === 'true'} onChange={(event) => onChoose(event.currentTarget.checked)} />;
  }
  if (kind === 'select') {
    return (
      <Select
        {...common}
        data={setting.choices}
        value={text || null}
        placeholder={texts.noValue}
        clearable={setting.nullable}
        allowDeselect={false}
        onChange={onChoose}
      />
    );
  }
  if (kind === 'lines' || kind === 'json') {
    return (
      <Textarea
        {...common}
        description={kind === 'lines' ? texts.onePerLine : texts.asJson}
        autosize
        minRows={2}
        maxRows={14}
        spellCheck={false}
        value={text}
        onChange={(event) => onType(event.currentTarget.value)}
      />
    );
  }
  return (
    <TextInput
      {...common}
      inputMode={kind === 'number' ? 'decimal' : undefined}
      placeholder={setting.nullable ? texts.noValue : undefined}
      spellCheck={false}
      value={text}
      onChange={(event) => onType(event.currentTarget.value)}
    />
  );
}
