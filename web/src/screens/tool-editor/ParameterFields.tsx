import { Button } from '@mantine/core';
import { useRef, useState } from 'react';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import type { RecipeFieldsProps } from './fields';
import { ParameterField } from './ParameterField';
import { hasDuplicateName, newParameter, type Parameter } from './parameters';
import css from './toolEditor.module.css';

/** The parameters of a program. */
export function ParameterFields({ recipe: { parameters }, errors, onChange }: RecipeFieldsProps) {
  const messages = useMessages();
  const [added, setAdded] = useState('');
  const addButton = useRef<HTMLButtonElement>(null);
  const update = (id: string, changes: Partial<Parameter>) =>
    onChange({ parameters: parameters.map((item) => (item.id === id ? { ...item, ...changes } : item)) });
  const add = () => {
    const parameter = newParameter();
    setAdded(parameter.id);
    onChange({ parameters: [...parameters, parameter] });
  };
  const remove = (id: string) => {
    onChange({ parameters: parameters.filter((item) => item.id !== id) });
    addButton.current?.focus();
  };
  return (
    <>
      <p className={css.muted}>{messages.codeTools.parametersHint}</p>
      {parameters.map((parameter, index) => (
        <ParameterField
          key={parameter.id}
          number={index + 1}
          parameter={parameter}
          isNew={parameter.id === added}
          isDuplicate={hasDuplicateName(parameters, parameter)}
          error={errors[`argSchema.properties.${parameter.name}`]}
          onChange={(changes) => update(parameter.id, changes)}
          onRemove={() => remove(parameter.id)}
        />
      ))}
      {errors.argSchema && (
        <p className={css.error} role="alert">
          {errors.argSchema}
        </p>
      )}
      <div>
        <Button
          ref={addButton}
          size="compact-sm"
          variant="default"
          leftSection={<Icon name="plus" size={14} />}
          onClick={add}
        >
          {messages.codeTools.addParameter}
        </Button>
      </div>
    </>
  );
}
