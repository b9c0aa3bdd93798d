import { TagsInput, Textarea, TextInput } from '@mantine/core';
import { useMessages } from '~/i18n';
import { fieldError, type RecipeFieldsProps } from './fields';

export function BasicsStep({ recipe, errors, onChange }: RecipeFieldsProps) {
  const messages = useMessages();
  return (
    <>
      <TextInput
        label={messages.editor.displayName}
        value={recipe.displayName}
        error={fieldError(errors, 'displayName')}
        onChange={(event) => onChange({ displayName: event.currentTarget.value })}
      />
      <Textarea
        label={messages.editor.description}
        description={messages.editor.descriptionHint}
        autosize
        minRows={2}
        value={recipe.description}
        error={fieldError(errors, 'description')}
        onChange={(event) => onChange({ description: event.currentTarget.value })}
      />
      <TagsInput
        label={messages.editor.tags}
        description={messages.editor.tagsHint}
        value={recipe.tags}
        error={fieldError(errors, 'tags')}
        onChange={(tags) => onChange({ tags })}
      />
    </>
  );
}
