import { Button } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useRef, useState } from 'react';
import { useStepsProgram } from '~/api/code';
import { Problem } from '~/api/problem';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import { fieldError, type RecipeFieldsProps } from '../fields';
import { toToolBody } from '../recipe';
import { errorsOfStep, moveStep, newStep, type StepDraft, toCodeImpl } from '../steps';
import { ReferenceFields } from './ReferenceFields';
import { StepItem } from './StepItem';
import { StepsProgram } from './StepsProgram';
import css from './stepsForm.module.css';

const DEBOUNCE_MS = 300;

/** The steps of a tool, and the program that they make. */
export function StepList({ recipe, errors, onChange }: RecipeFieldsProps) {
  const { codeTools } = useMessages();
  const { steps, parameters, result } = recipe;
  const [added, setAdded] = useState('');
  const addButton = useRef<HTMLButtonElement>(null);
  const [draft] = useDebouncedValue(recipe, DEBOUNCE_MS);
  const names = [...draft.parameters, ...draft.steps].map(({ name }) => name);
  const isComplete =
    steps.length > 0 && [...names, ...draft.steps.map(({ tool }) => tool)].every((text) => text.trim());
  const codeImpl = toCodeImpl(draft.steps, draft.parameters, draft.result);
  const program = useStepsProgram(codeImpl, toToolBody(draft).argSchema, isComplete);
  const allErrors = { ...errors, ...(program.error instanceof Problem ? program.error.fields : {}) };
  const change = (changed: StepDraft[]) => onChange({ steps: changed });
  const add = () => {
    const step = newStep();
    setAdded(step.id);
    change([...steps, step]);
  };
  const remove = (id: string) => {
    change(steps.filter((step) => step.id !== id));
    addButton.current?.focus();
  };
  return (
    <>
      <p className={css.hint}>{codeTools.stepsHint}</p>
      <ol className={css.list}>
        {steps.map((step, index) => (
          <StepItem
            key={step.id}
            number={index + 1}
            step={step}
            steps={steps}
            sources={{ parameters, earlierSteps: steps.slice(0, index) }}
            isNew={step.id === added}
            errors={errorsOfStep(allErrors, index)}
            onChange={(changes) => change(steps.map((item) => (item.id === step.id ? { ...item, ...changes } : item)))}
            onMove={(by) => change(moveStep(steps, index, by))}
            onRemove={() => remove(step.id)}
          />
        ))}
      </ol>
      <div>
        <Button ref={addButton} variant="default" leftSection={<Icon name="plus" size={14} />} onClick={add}>
          {codeTools.addStep}
        </Button>
      </div>
      {steps.length > 0 && (
        <fieldset className={css.argument} aria-label={codeTools.result}>
          <ReferenceFields
            label={codeTools.result}
            sources={{ parameters, earlierSteps: steps }}
            reference={result}
            noneLabel={codeTools.lastResult}
            error={fieldError(allErrors, 'result.from')}
            onChange={(reference) => onChange({ result: reference })}
          />
        </fieldset>
      )}
      <StepsProgram
        program={isComplete ? program.data?.trimEnd() : undefined}
        error={program.error}
        onEdit={(code) => onChange({ kind: 'code', program: code })}
      />
    </>
  );
}
