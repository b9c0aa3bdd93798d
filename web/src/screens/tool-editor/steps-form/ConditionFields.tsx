import { Checkbox, Select, TextInput } from '@mantine/core';
import { useMessages } from '~/i18n';
import { CONDITIONS, comparesValue, type StepCondition } from '../steps';
import { ReferenceFields } from './ReferenceFields';
import type { Sources } from './sources';
import css from './stepsForm.module.css';

interface Props {
  when: StepCondition | null;
  sources: Sources;
  error: string | undefined;
  onChange: (when: StepCondition | null) => void;
}

/** The condition under which a step runs. */
export function ConditionFields({ when, sources, error, onChange }: Props) {
  const { codeTools, common } = useMessages();
  const firstSource = sources.parameters[0] ?? sources.earlierSteps[0];
  const isPossible = when !== null || firstSource !== undefined;
  const start = (): StepCondition => ({
    reference: { source: firstSource?.id ?? '', path: '' },
    is: 'present',
    valueText: '',
  });
  return (
    <>
      <Checkbox
        label={codeTools.withCondition}
        description={isPossible ? undefined : codeTools.noSources}
        disabled={!isPossible}
        checked={when !== null}
        onChange={(event) => onChange(event.currentTarget.checked ? start() : null)}
      />
      {when && (
        <fieldset className={css.argument} aria-label={codeTools.condition}>
          <ReferenceFields
            label={common.value}
            sources={sources}
            reference={when.reference}
            error={error}
            onChange={(reference) => reference && onChange({ ...when, reference })}
          />
          <Select
            label={codeTools.comparison}
            className={css.source}
            data={CONDITIONS.map((value) => ({ value, label: codeTools.conditions[value] }))}
            value={when.is}
            allowDeselect={false}
            onChange={(is) => onChange({ ...when, is: (is ?? 'present') as StepCondition['is'] })}
          />
          {comparesValue(when.is) && (
            <TextInput
              label={codeTools.comparedWith}
              description={codeTools.comparedHint}
              className={css.path}
              value={when.valueText}
              onChange={(event) => onChange({ ...when, valueText: event.currentTarget.value })}
            />
          )}
        </fieldset>
      )}
    </>
  );
}
