// The same as JSON, for those who have it already.
import { Button } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import { parsed } from '~/api/json';
import type { ToolBody } from '~/api/tools';
import { useWords } from '~/i18n';
import { Card, Failed, Loading, Note } from '~/parts/parts';
import css from './maker.module.css';
import type { ModeProps } from './RecipeMode';

const JsonMode = lazy(() => import('./JsonMode'));

export function WholeMode({ text, onText, where, saving, onSave }: ModeProps & { text: string; onText: (text: string) => void }) {
  const words = useWords();
  const [isBad, setBad] = useState(false);
  const { bundleName: _name, slug: _slug, version: _version, ...inText } = saving.fields;
  const submit = () => {
    const body = parsed(text);
    setBad(body === undefined);
    if (body !== undefined) onSave(body as ToolBody);
  };
  return (
    <form className={css.steps} onSubmit={(event) => { event.preventDefault(); submit(); }}>
      <Card className={css.step}>
        {where}
        <Suspense fallback={<Loading />}>
          <JsonMode text={text} errors={inText} onText={onText} />
        </Suspense>
      </Card>
      {isBad && <Note mood="bad">{words.tester.badJson}</Note>}
      {saving.error ? <Failed error={saving.error} /> : null}
      <div className={css.end}>
        <Button type="submit" size="md" loading={saving.isSaving}>
          {words.maker.save}
        </Button>
      </div>
    </form>
  );
}
