// The same as JSON, for those who have it already.
import { Button } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import type { ToolBody } from '~/api/tools';
import { useWords } from '~/i18n';
import { Card, Failed, Loading, Note } from '~/parts/parts';
import css from './maker.module.css';
import { NEW, Place, type PlaceOf } from './Place';
import type { ModeProps } from './RecipeMode';
import { useSave } from './useSave';

const JsonMode = lazy(() => import('./JsonMode'));

export function WholeMode({ start, slug, version, bundles, bundle, isFixed }: ModeProps & { start: ToolBody; slug: string; version: string }) {
  const words = useWords();
  const [text, setText] = useState(() => JSON.stringify(start, null, 2));
  const [isBad, setBad] = useState(false);
  const [place, setPlace] = useState<PlaceOf>({ bundle: bundle ?? bundles[0]?.id ?? NEW, bundleName: '', slug, version });
  const { save, error, fields, isSaving } = useSave();
  const move = (part: Partial<PlaceOf>) => setPlace((before) => ({ ...before, ...part }));
  const { bundleName: _name, slug: _slug, version: _version, ...inText } = fields;
  const submit = () => {
    try {
      const body = JSON.parse(text) as ToolBody;
      setBad(false);
      void save(place, body, (id) => move({ bundle: id }));
    } catch {
      setBad(true);
    }
  };
  return (
    <form className={css.steps} onSubmit={(event) => { event.preventDefault(); submit(); }}>
      <Card className={css.step}>
        <Place place={place} bundles={bundles} isFixed={isFixed} errors={fields} set={move} />
        <Suspense fallback={<Loading />}>
          <JsonMode text={text} errors={inText} onText={setText} />
        </Suspense>
      </Card>
      {isBad && <Note mood="bad">{words.tester.badJson}</Note>}
      {error ? <Failed error={error} /> : null}
      <div className={css.end}>
        <Button type="submit" size="md" loading={isSaving}>
          {words.maker.save}
        </Button>
      </div>
    </form>
  );
}
