import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import { PlaceholderField } from './PlaceholderField';
import { getPlaceholder, type Placeholder, placeholderNames, type Recipe } from './recipe';

interface Props {
  recipe: Recipe;
  onChange: (changes: Partial<Recipe>) => void;
}

/** The settings of all placeholders in the request. */
export function PlaceholderFields({ recipe, onChange }: Props) {
  const messages = useMessages();
  const names = placeholderNames(recipe);
  if (names.length === 0) return <Notice>{messages.editor.noPlaceholders}</Notice>;
  const update = (name: string, changes: Partial<Placeholder>) => {
    const placeholder = { ...getPlaceholder(recipe, name), ...changes };
    onChange({ placeholders: { ...recipe.placeholders, [name]: placeholder } });
  };
  return names.map((name) => (
    <PlaceholderField
      key={name}
      name={name}
      placeholder={getPlaceholder(recipe, name)}
      onChange={(changes) => update(name, changes)}
    />
  ));
}
