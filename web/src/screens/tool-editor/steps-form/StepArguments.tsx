import { Button } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useToolByName } from '~/api/tools';
import { useMessages } from '~/i18n';
import type { StepArg, StepDraft } from '../steps';
import { StepArgument } from './StepArgument';
import type { Sources } from './sources';
import css from './stepsForm.module.css';
import { toolArguments } from './toolSchema';

const DEBOUNCE_MS = 200;
const NO_ARGUMENTS = {};

interface Props {
  step: StepDraft;
  sources: Sources;
  /** Errors of the step by field. */
  errors: Record<string, string>;
  onChange: (args: StepDraft['args']) => void;
}

/** The arguments of a step. Optional ones without a value are shown on request. */
export function StepArguments({ step: { tool, args }, sources, errors, onChange }: Props) {
  const { codeTools } = useMessages();
  const [showsAll, setShowsAll] = useState(false);
  const [name] = useDebouncedValue(tool.trim(), DEBOUNCE_MS);
  const found = useToolByName(name, '').data;
  const schema = found?.argSchema ?? NO_ARGUMENTS;
  const all = toolArguments(schema, Object.keys(args));
  const shown = all.filter((item) => showsAll || item.isRequired || Object.hasOwn(args, item.name));
  const set = (arg: string, value: StepArg | undefined) => {
    const { [arg]: _previous, ...others } = args;
    onChange(value ? { ...args, [arg]: value } : others);
  };
  const errorOf = (arg: string) =>
    Object.entries(errors).find(([path]) => path === `args.${arg}` || path.startsWith(`args.${arg}.`))?.[1];
  return (
    <>
      {name !== '' && found === null && <p className={css.hint}>{codeTools.unknownTool(name)}</p>}
      {found && all.length === 0 && <p className={css.hint}>{codeTools.noArguments}</p>}
      {shown.map((item) => (
        <StepArgument
          key={item.name}
          {...item}
          schema={schema}
          arg={Object.hasOwn(args, item.name) ? args[item.name] : undefined}
          sources={sources}
          error={errorOf(item.name)}
          onChange={(value) => set(item.name, value)}
        />
      ))}
      {(showsAll || shown.length < all.length) && (
        <div>
          <Button size="compact-sm" variant="subtle" aria-expanded={showsAll} onClick={() => setShowsAll(!showsAll)}>
            {showsAll ? codeTools.fewerArguments : codeTools.moreArguments(all.length - shown.length)}
          </Button>
        </div>
      )}
    </>
  );
}
