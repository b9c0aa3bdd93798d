import { Checkbox, TextInput } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { Literal } from '~/api/code';
import { Loading } from '~/components/Loading';
import { useMessages } from '~/i18n';
import { NAME_PATTERN } from '~/screens/tool-editor/parameters';
import type { Choices } from './literals';
import css from './saveCode.module.css';

const CodeEditor = lazy(() => import('~/components/CodeEditor'));

interface Props {
  code: string;
  literals: Literal[];
  choices: Choices;
  /** Errors by the index of the literal. */
  errors: Record<number, string>;
  onChange: (choices: Choices) => void;
}

/** Chooses the values of a program that become inputs of the tool, and names them. */
export function LiteralFields({ code, literals, choices, errors, onChange }: Props) {
  const { codeTools, common, playground } = useMessages();
  const toggle = ({ index, suggestedName }: Literal, isChosen: boolean) => {
    const { [index]: _previous, ...others } = choices;
    onChange(isChosen ? { ...choices, [index]: { name: suggestedName, description: '' } } : others);
  };
  return (
    <>
      <Suspense fallback={<Loading />}>
        <CodeEditor label={playground.code} language="python" value={code} readOnly minHeight={40} />
      </Suspense>
      <p className={css.hint}>{literals.length > 0 ? codeTools.literalsHint : codeTools.noLiterals}</p>
      <ul className={css.literals}>
        {literals.map((literal) => {
          const choice = choices[literal.index];
          const label = `${literal.text}, ${codeTools.literalPlace(literal.line)}`;
          const update = (changes: Partial<typeof choice>) =>
            choice && onChange({ ...choices, [literal.index]: { ...choice, ...changes } });
          return (
            <li key={literal.index} className={css.literal}>
              <Checkbox
                aria-label={label}
                label={
                  <>
                    <code>{literal.text}</code> <span className={css.hint}>{codeTools.literalPlace(literal.line)}</span>
                  </>
                }
                checked={choice !== undefined}
                onChange={(event) => toggle(literal, event.currentTarget.checked)}
              />
              {choice && (
                <div className={css.fields}>
                  <TextInput
                    label={common.name}
                    aria-label={`${label}: ${common.name}`}
                    required
                    pattern={NAME_PATTERN}
                    title={codeTools.nameHint}
                    value={choice.name}
                    error={errors[literal.index]}
                    onChange={(event) => update({ name: event.currentTarget.value })}
                  />
                  <TextInput
                    label={codeTools.literalDescription}
                    aria-label={`${label}: ${codeTools.literalDescription}`}
                    value={choice.description}
                    onChange={(event) => update({ description: event.currentTarget.value })}
                  />
                </div>
              )}
            </li>
          );
        })}
      </ul>
      {literals.some(({ count }) => count > 1) && <p className={css.hint}>{codeTools.sharedHint}</p>}
    </>
  );
}
