import { ActionIcon, Checkbox, Select, TextInput } from '@mantine/core';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import { hasInvalidDefault, NAME_PATTERN, PARAMETER_TYPES, type Parameter, type ParameterType } from './parameters';
import css from './toolEditor.module.css';
import { useInitialFocus } from './useInitialFocus';

interface Props {
  number: number;
  parameter: Parameter;
  /** Whether the user has just added it. */
  isNew: boolean;
  isDuplicate: boolean;
  error: string | undefined;
  onChange: (changes: Partial<Parameter>) => void;
  onRemove: () => void;
}

export function ParameterField({ number, parameter, isNew, isDuplicate, error, onChange, onRemove }: Props) {
  const { codeTools, common, editor } = useMessages();
  const nameInput = useInitialFocus(isNew);
  const { name, type, description, defaultText, required } = parameter;
  return (
    <fieldset className={css.parameter} aria-label={name || codeTools.parameter(number)}>
      <TextInput
        ref={nameInput}
        label={common.name}
        placeholder="city"
        required
        pattern={NAME_PATTERN}
        title={codeTools.nameHint}
        value={name}
        error={isDuplicate ? codeTools.duplicateName(name) : error}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <Select
        label={editor.argType}
        data={PARAMETER_TYPES.map((value) => ({ value, label: codeTools.types[value] }))}
        value={type}
        allowDeselect={false}
        onChange={(value) => onChange({ type: (value ?? 'string') as ParameterType })}
      />
      <TextInput
        label={editor.argHint}
        value={description}
        onChange={(event) => onChange({ description: event.currentTarget.value })}
      />
      <TextInput
        label={codeTools.default}
        value={defaultText}
        error={hasInvalidDefault(parameter) ? codeTools.invalidDefault(codeTools.types[type]) : undefined}
        onChange={(event) => onChange({ defaultText: event.currentTarget.value })}
      />
      <div className={css.parameterEnd}>
        <Checkbox
          label={editor.argRequired}
          checked={required}
          onChange={(event) => onChange({ required: event.currentTarget.checked })}
        />
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={codeTools.removeParameter(name || String(number))}
          onClick={onRemove}
        >
          <Icon name="close" size={16} />
        </ActionIcon>
      </div>
    </fieldset>
  );
}
