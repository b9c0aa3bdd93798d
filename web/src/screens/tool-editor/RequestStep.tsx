import { SegmentedControl, TextInput } from '@mantine/core';
import { useMessages } from '~/i18n';
import { fieldError, type RecipeFieldsProps } from './fields';
import { RequestFields } from './RequestFields';
import { isProgram, type Recipe } from './recipe';
import css from './toolEditor.module.css';

const KINDS: Recipe['kind'][] = ['http', 'steps', 'code', 'python'];

export function RequestStep({ recipe, errors, onChange }: RecipeFieldsProps) {
  const messages = useMessages();
  return (
    <>
      <div>
        <SegmentedControl
          className={css.kinds}
          aria-label={messages.editor.type}
          value={recipe.kind}
          data={KINDS.map((value) => ({ value, label: messages.toolPage.type[value] ?? value }))}
          onChange={(kind) => onChange({ kind: kind as Recipe['kind'] })}
        />
      </div>
      {isProgram(recipe) && <p className={css.muted}>{messages.codeTools.kindHint}</p>}
      {recipe.kind === 'http' && <RequestFields recipe={recipe} errors={errors} onChange={onChange} />}
      {recipe.kind === 'python' && (
        <TextInput
          label={messages.editor.func}
          description={messages.editor.funcHint}
          placeholder="time.now"
          required
          value={recipe.func}
          error={fieldError(errors, 'func')}
          onChange={(event) => onChange({ func: event.currentTarget.value })}
        />
      )}
    </>
  );
}
