// The recipe builder: four short steps, and nothing that needs JSON.
import { Button, SegmentedControl, TagsInput, Textarea, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import type { ToolBody } from '~/api/tools';
import { useWords } from '~/i18n';
import { Card, Failed } from '~/parts/parts';
import { FoundFields } from './FoundFields';
import css from './maker.module.css';
import { bodyOf, type Recipe } from './recipe';
import { errorFor, RequestFields } from './RequestFields';
import { TestCall } from './TestCall';
import type { useSave } from './useSave';

export interface ModeProps {
  /** Where the tool goes, and what it is called there. */
  where: ReactNode;
  saving: ReturnType<typeof useSave>;
  onSave: (body: ToolBody) => void;
}

export function RecipeMode({ recipe, onRecipe, where, saving, onSave }: ModeProps & { recipe: Recipe; onRecipe: (recipe: Recipe) => void }) {
  const words = useWords();
  const { fields, error, isSaving } = saving;
  const set = (part: Partial<Recipe>) => onRecipe({ ...recipe, ...part });
  return (
    <div className={css.steps}>
      <form id="recipe" className={css.steps} onSubmit={(event) => { event.preventDefault(); onSave(bodyOf(recipe)); }}>
        <Step number={1} title={words.maker.step1}>
          {where}
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
