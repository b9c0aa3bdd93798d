import { Select, Textarea, TextInput } from '@mantine/core';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import { AuthFields } from './AuthFields';
import { fieldError, type RecipeFieldsProps } from './fields';
import { PairFields } from './PairFields';
import { hasBody, METHODS, urlHost } from './recipe';
import css from './toolEditor.module.css';

export function RequestFields({ recipe, errors, onChange }: RecipeFieldsProps) {
  const messages = useMessages();
  const host = urlHost(recipe.url);
  return (
    <>
      <div className={css.urlRow}>
        <Select
          className={css.method}
          label={messages.editor.method}
          data={METHODS}
          value={recipe.method}
          allowDeselect={false}
          onChange={(method) => onChange({ method: method ?? 'GET' })}
        />
        <TextInput
          label={messages.editor.url}
          description={messages.editor.urlHint}
          placeholder="https://api.example.com/cities/${city}"
          inputMode="url"
          required
          value={recipe.url}
          error={fieldError(errors, 'urlTemplate')}
          onChange={(event) => onChange({ url: event.currentTarget.value })}
        />
      </div>
      {host && <Notice>{messages.editor.allowHostHint(host)}</Notice>}
      <AuthFields recipe={recipe} errors={errors} onChange={onChange} />
      <PairFields
        label={messages.editor.query}
        addLabel={messages.editor.addQuery}
        pairs={recipe.query}
        onChange={(query) => onChange({ query })}
      />
      <PairFields
        label={messages.editor.headers}
        addLabel={messages.editor.addHeader}
        pairs={recipe.headers}
        onChange={(headers) => onChange({ headers })}
      />
      {hasBody(recipe) && (
        <Textarea
          label={messages.editor.body}
          description={messages.editor.bodyHint}
          autosize
          minRows={3}
          styles={{ input: { fontFamily: 'var(--monospace)' } }}
          value={recipe.body}
          error={fieldError(errors, 'body')}
          onChange={(event) => onChange({ body: event.currentTarget.value })}
        />
      )}
    </>
  );
}
