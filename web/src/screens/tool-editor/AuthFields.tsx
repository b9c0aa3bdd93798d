import { Select, TextInput } from '@mantine/core';
import { useMessages } from '~/i18n';
import { fieldError, type RecipeFieldsProps } from './fields';
import type { AuthKind, Recipe } from './recipe';
import css from './toolEditor.module.css';

export function AuthFields({ recipe: { auth }, errors, onChange }: RecipeFieldsProps) {
  const messages = useMessages();
  const update = (changes: Partial<Recipe['auth']>) => onChange({ auth: { ...auth, ...changes } });
  return (
    <div className={css.fieldRow}>
      <Select
        label={messages.editor.auth}
        data={Object.entries(messages.editor.authKind).map(([value, label]) => ({ value, label }))}
        value={auth.kind}
        allowDeselect={false}
        onChange={(kind) => update({ kind: (kind ?? 'none') as AuthKind })}
      />
      {(auth.kind === 'header' || auth.kind === 'query') && (
        <TextInput
          label={messages.editor.authName}
          placeholder="X-API-Key"
          required
          value={auth.name}
          error={fieldError(errors, 'name')}
          onChange={(event) => update({ name: event.currentTarget.value })}
        />
      )}
      {auth.kind !== 'none' && (
        <TextInput
          label={messages.editor.secret}
          description={messages.editor.secretHint}
          placeholder="WEATHER_KEY"
          required
          value={auth.secret}
          onChange={(event) => update({ secret: event.currentTarget.value })}
        />
      )}
    </div>
  );
}
