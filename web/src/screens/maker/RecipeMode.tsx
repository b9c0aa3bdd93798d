// The recipe builder: four short steps, and nothing that needs JSON.
import { Button, SegmentedControl, TagsInput, Textarea, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { Bundle } from '~/api/tools';
import { useWords } from '~/i18n';
import { Card, Failed } from '~/parts/parts';
import { FoundFields } from './FoundFields';
import css from './maker.module.css';
import { NEW, Place, type PlaceOf } from './Place';
import { bodyOf, type Recipe } from './recipe';
import { errorFor, RequestFields } from './RequestFields';
import { TestCall } from './TestCall';
import { useSave } from './useSave';

export interface ModeProps {
  bundles: Bundle[];
  bundle: string | null;
  isFixed: boolean;
}

export function RecipeMode({ start, bundles, bundle, isFixed }: ModeProps & { start: Recipe }) {
  const words = useWords();
  const [recipe, setRecipe] = useState(start);
  const [place, setPlace] = useState<PlaceOf>({ bundle: bundle ?? bundles[0]?.id ?? NEW, bundleName: '', slug: start.slug, version: start.version });
  const { save, error, fields, isSaving } = useSave();
  const set = (part: Partial<Recipe>) => setRecipe((before) => ({ ...before, ...part }));
  const move = (part: Partial<PlaceOf>) => setPlace((before) => ({ ...before, ...part }));
  return (
    <div className={css.steps}>
      <form id="recipe" className={css.steps} onSubmit={(event) => { event.preventDefault(); void save(place, bodyOf(recipe), (id) => move({ bundle: id })); }}>
        <Step number={1} title={words.maker.step1}>
          <Place place={place} bundles={bundles} isFixed={isFixed} errors={fields} set={move} />
          <About recipe={recipe} errors={fields} set={set} />
        </Step>
        <Step number={2} title={words.maker.step2}>
          <Does recipe={recipe} errors={fields} set={set} />
        </Step>
        {recipe.kind === 'http' && (
          <Step number={3} title={words.maker.step3}>
            <FoundFields recipe={recipe} set={set} />
          </Step>
        )}
      </form>
      {recipe.kind === 'http' && (
        <Step number={4} title={words.maker.step4}>
          <TestCall body={bodyOf(recipe)} />
        </Step>
      )}
      {error ? <Failed error={error} /> : null}
      <div className={css.end}>
        <Button type="submit" form="recipe" size="md" loading={isSaving}>
          {words.maker.save}
        </Button>
      </div>
    </div>
  );
}

function Step({ number, title, children }: { number: number; title: string; children: ReactNode }) {
  return (
    <Card>
      <section className={css.step} aria-label={title}>
        <h2>
          <span className={css.number}>{number}</span> {title}
        </h2>
        {children}
      </section>
    </Card>
  );
}

interface FieldsProps {
  recipe: Recipe;
  errors: Record<string, string>;
  set: (part: Partial<Recipe>) => void;
}

function About({ recipe, errors, set }: FieldsProps) {
  const words = useWords();
  return (
    <>
      <TextInput label={words.maker.displayName} value={recipe.displayName} error={errorFor(errors, 'displayName')} onChange={(event) => set({ displayName: event.currentTarget.value })} />
      <Textarea
        label={words.maker.description}
        description={words.maker.descriptionHint}
        autosize
        minRows={2}
        value={recipe.description}
        error={errorFor(errors, 'description')}
        onChange={(event) => set({ description: event.currentTarget.value })}
      />
      <TagsInput label={words.maker.tags} description={words.maker.tagsHint} value={recipe.tags} error={errorFor(errors, 'tags')} onChange={(tags) => set({ tags })} />
    </>
  );
}

function Does({ recipe, errors, set }: FieldsProps) {
  const words = useWords();
  return (
    <>
      <div>
        <SegmentedControl
          aria-label={words.maker.kind}
          value={recipe.kind}
          data={(['http', 'python'] as const).map((value) => ({ value, label: words.tool.type[value] ?? value }))}
          onChange={(kind) => set({ kind: kind as Recipe['kind'] })}
        />
      </div>
      {recipe.kind === 'http' ? (
        <RequestFields recipe={recipe} errors={errors} set={set} />
      ) : (
        <TextInput label={words.maker.func} description={words.maker.funcHint} placeholder="time.now" required value={recipe.func} error={errorFor(errors, 'func')} onChange={(event) => set({ func: event.currentTarget.value })} />
      )}
    </>
  );
}
