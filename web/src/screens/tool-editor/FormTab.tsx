import { Button } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import type { ToolBody } from '~/api/tools';
import { ErrorNotice } from '~/components/ErrorNotice';
import { useMessages } from '~/i18n';
import { BasicsStep } from './BasicsStep';
import { ParameterFields } from './ParameterFields';
import { PlaceholderFields } from './PlaceholderFields';
import { ProgramFields } from './ProgramFields';
import { hasDuplicateName, hasInvalidDefault } from './parameters';
import { RequestStep } from './RequestStep';
import { isProgram, type Recipe, toToolBody } from './recipe';
import { Step } from './Step';
import { StepList } from './steps-form/StepList';
import { TestCall } from './TestCall';
import css from './toolEditor.module.css';
import type { useSaveTool } from './useSaveTool';

interface Props {
  recipe: Recipe;
  onChange: (recipe: Recipe) => void;
  versionFields: ReactNode;
  saving: ReturnType<typeof useSaveTool>;
  onSave: (body: ToolBody) => void;
}

/** The recipe form: a few short steps, no JSON. */
export function FormTab({ recipe, onChange, versionFields, saving, onSave }: Props) {
  const messages = useMessages();
  const { fieldErrors, error, isSaving } = saving;
  const update = (changes: Partial<Recipe>) => onChange({ ...recipe, ...changes });
  const handleSubmit = (event: FormEvent) => {
    event.preventDefault();
    const isInvalid = recipe.parameters.some(
      (item) => hasInvalidDefault(item) || hasDuplicateName(recipe.parameters, item),
    );
    if (isProgram(recipe) && isInvalid) return; // the fields show why
    onSave(toToolBody(recipe));
  };
  const fields = { recipe, errors: fieldErrors, onChange: update };
  return (
    <div className={css.steps}>
      <form id="recipe" className={css.steps} onSubmit={handleSubmit}>
        <Step number={1} title={messages.editor.basicsStep}>
          {versionFields}
          <BasicsStep {...fields} />
        </Step>
        <Step number={2} title={messages.editor.requestStep}>
          <RequestStep {...fields} />
        </Step>
        {recipe.kind === 'http' && (
          <Step number={3} title={messages.editor.inputStep}>
            <PlaceholderFields recipe={recipe} onChange={update} />
          </Step>
        )}
        {isProgram(recipe) && (
          <>
            <Step number={3} title={messages.editor.inputStep}>
              <ParameterFields {...fields} />
            </Step>
            <Step number={4} title={recipe.kind === 'steps' ? messages.codeTools.steps : messages.codeTools.program}>
              {recipe.kind === 'steps' ? <StepList {...fields} /> : <ProgramFields {...fields} />}
            </Step>
          </>
        )}
      </form>
      {recipe.kind !== 'python' && (
        <Step number={isProgram(recipe) ? 5 : 4} title={messages.editor.testStep}>
          <TestCall body={toToolBody(recipe)} />
        </Step>
      )}
      {error ? <ErrorNotice error={error} /> : null}
      <div className={css.footer}>
        <Button type="submit" form="recipe" size="md" loading={isSaving}>
          {messages.editor.save}
        </Button>
      </div>
    </div>
  );
}
