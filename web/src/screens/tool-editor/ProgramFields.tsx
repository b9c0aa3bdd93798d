import { lazy, Suspense, useMemo } from 'react';
import { usePackLoader } from '~/api/run';
import { Loading } from '~/components/Loading';
import { useMessages } from '~/i18n';
import { createCompletionSource } from '~/screens/playground/completions';
import { fieldError, type RecipeFieldsProps } from './fields';
import css from './toolEditor.module.css';

const CodeEditor = lazy(() => import('~/components/CodeEditor'));

/** Edits the program of a tool. */
export function ProgramFields({ recipe, errors, onChange }: RecipeFieldsProps) {
  const { codeTools } = useMessages();
  const loadPacks = usePackLoader();
  const complete = useMemo(() => createCompletionSource(loadPacks), [loadPacks]);
  const error = fieldError(errors, 'program') ?? errors.codeImpl;
  return (
    <>
      <p className={css.muted}>{codeTools.programHint}</p>
      <Suspense fallback={<Loading />}>
        <CodeEditor
          label={codeTools.program}
          language="python"
          value={recipe.program}
          placeholder={'weather = web.fetch(url="https://wttr.in/" + city)\nweather'}
          onChange={(program) => onChange({ program })}
          complete={complete}
        />
      </Suspense>
      {error && (
        <p className={css.error} role="alert">
          {error}
        </p>
      )}
    </>
  );
}
