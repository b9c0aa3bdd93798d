import { ActionIcon, TextInput } from '@mantine/core';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import { NAME_PATTERN } from '../parameters';
import { type StepDraft, suggestName } from '../steps';
import { ConditionFields } from './ConditionFields';
import { StepArguments } from './StepArguments';
import type { Sources } from './sources';
import css from './stepsForm.module.css';
import { ToolField } from './ToolField';

interface Props {
  number: number;
  step: StepDraft;
  steps: StepDraft[];
  sources: Sources;
  /** Whether the user has just added it. */
  isNew: boolean;
  /** Errors of the step by field. */
  errors: Record<string, string>;
  onChange: (changes: Partial<StepDraft>) => void;
  onMove: (by: -1 | 1) => void;
  onRemove: () => void;
}

/** One call of a tool: its arguments, the name of its result, and when it runs. */
export function StepItem({ number, step, steps, sources, isNew, errors, onChange, onMove, onRemove }: Props) {
  const { codeTools } = useMessages();
  const suggest = (tool: string) => {
    const others = steps.filter(({ id }) => id !== step.id);
    return tool.trim() ? suggestName(tool.trim(), others, sources.parameters) : '';
  };
  const handleTool = (tool: string, isComplete: boolean) => {
    const hasOwnName = step.name.trim() !== '' && step.name !== suggest(step.tool);
    onChange({ tool, name: isComplete && !hasOwnName ? suggest(tool) : step.name });
  };
  const condition = Object.entries(errors).find(([path]) => path === 'when' || path.startsWith('when.'))?.[1];
  // Disabled buttons would lose the focus when a step arrives at the top or the end.
  const moves = [
    { icon: 'up', by: -1, isPossible: number > 1, label: codeTools.moveUp(number) },
    { icon: 'down', by: 1, isPossible: number < steps.length, label: codeTools.moveDown(number) },
  ] as const;
  return (
    <li>
      <section className={css.step} aria-label={codeTools.step(number)}>
        <div className={css.head}>
          <h3>{codeTools.step(number)}</h3>
          {moves.map(({ icon, by, isPossible, label }) => (
            <ActionIcon
              key={icon}
              variant="subtle"
              color="gray"
              aria-label={label}
              aria-disabled={!isPossible}
              className={isPossible ? undefined : css.inactive}
              onClick={() => isPossible && onMove(by)}
            >
              <Icon name={icon} size={16} />
            </ActionIcon>
          ))}
          <ActionIcon variant="subtle" color="gray" aria-label={codeTools.removeStep(number)} onClick={onRemove}>
            <Icon name="close" size={16} />
          </ActionIcon>
        </div>
        {errors[''] && (
          <p className={css.error} role="alert">
            {errors['']}
          </p>
        )}
        <div className={css.names}>
          <ToolField value={step.tool} isNew={isNew} error={errors.tool} onChange={handleTool} />
          <TextInput
            label={codeTools.resultName}
            description={codeTools.resultNameHint}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            required
            pattern={NAME_PATTERN}
            title={codeTools.nameHint}
            value={step.name}
            error={errors.name}
            onChange={(event) => onChange({ name: event.currentTarget.value })}
          />
        </div>
        <StepArguments step={step} sources={sources} errors={errors} onChange={(args) => onChange({ args })} />
        <ConditionFields when={step.when} sources={sources} error={condition} onChange={(when) => onChange({ when })} />
      </section>
    </li>
  );
}
