import { Button } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import type { ToolBody } from '~/api/tools';
import { ErrorNotice } from '~/components/ErrorNotice';
import { useMessages } from '~/i18n';
import { BasicsStep } from './BasicsStep';
import { PlaceholderFields } from './PlaceholderFields';
import { RequestStep } from './RequestStep';
import { type Recipe, toToolBody } from './recipe';
import { Step } from './Step';
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
    onSave(toToolBody(recipe));
  };
  return (
    <div className={css.steps}>
      <form id="recipe" className={css.steps} onSubmit={handleSubmit}>
        <Step number={1} title={messages.editor.basicsStep}>
          {versionFields}
          <BasicsStep recipe={recipe} errors={fieldErrors} onChange={update} />
        </Step>
        <Step number={2} title={messages.editor.requestStep}>
          <RequestStep recipe={recipe} errors={fieldErrors} onChange={update} />
        </Step>
        {recipe.kind === 'http' && (
          <Step number={3} title={messages.editor.inputStep}>
            <PlaceholderFields recipe={recipe} onChange={update} />
          </Step>
        )}
      </form>
      {recipe.kind === 'http' && (
        <Step number={4} title={messages.editor.testStep}>
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
