// The names that were found in a request, each with what is to be known of it.
import { Checkbox, SegmentedControl, Select, TextInput } from '@mantine/core';
import { useWords } from '~/i18n';
import { Note } from '~/parts/parts';
import css from './maker.module.css';
import { type Found, foundOf, namesIn, type Recipe } from './recipe';

export function FoundFields({ recipe, set }: { recipe: Recipe; set: (part: Partial<Recipe>) => void }) {
  const words = useWords();
  const names = namesIn(recipe);
  if (names.length === 0) return <Note>{words.maker.foundNone}</Note>;
  return names.map((name) => (
    <OneFound key={name} name={name} found={foundOf(recipe, name)} set={(part) => set({ found: { ...recipe.found, [name]: { ...foundOf(recipe, name), ...part } } })} />
  ));
}

function OneFound({ name, found, set }: { name: string; found: Found; set: (part: Partial<Found>) => void }) {
  const words = useWords();
  return (
    <div className={css.found} role="group" aria-label={name}>
      <code>{name}</code>
      <SegmentedControl
        size="xs"
        aria-label={`${name}: ${words.maker.found}`}
        value={found.isSecret ? 'secret' : 'argument'}
        data={[
          { value: 'argument', label: words.maker.argument },
          { value: 'secret', label: words.maker.isSecret },
        ]}
        onChange={(kind) => set({ isSecret: kind === 'secret' })}
      />
      {found.isSecret ? (
        <span className={css.soft}>{words.maker.secretHint}</span>
      ) : (
        <>
          <Select
            className={css.type}
            aria-label={`${name}: ${words.maker.argType}`}
            data={Object.entries(words.maker.types).map(([value, label]) => ({ value, label }))}
            value={found.type}
            allowDeselect={false}
            onChange={(type) => set({ type: (type ?? 'string') as Found['type'] })}
          />
          <TextInput className={css.hint} aria-label={`${name}: ${words.maker.argHint}`} placeholder={words.maker.argHint} value={found.description} onChange={(event) => set({ description: event.currentTarget.value })} />
          <Checkbox label={words.maker.mustHave} checked={found.required} onChange={(event) => set({ required: event.currentTarget.checked })} />
        </>
      )}
    </div>
  );
}
