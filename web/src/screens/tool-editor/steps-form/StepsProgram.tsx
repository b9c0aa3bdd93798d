import { Button } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { errorMessage } from '~/api/problem';
import { Loading } from '~/components/Loading';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import css from './stepsForm.module.css';

const CodeEditor = lazy(() => import('~/components/CodeEditor'));

interface Props {
  /** Undefined until all steps are complete. */
  program: string | undefined;
  error: unknown;
  onEdit: (program: string) => void;
}

/** The program that steps make, read-only. */
export function StepsProgram({ program, error, onEdit }: Props) {
  const { codeTools } = useMessages();
  return (
    <section className={css.program} aria-label={codeTools.stepsProgram}>
      <div className={css.head}>
        <h3>{codeTools.stepsProgram}</h3>
        {program !== undefined && (
          <Button size="compact-sm" variant="subtle" onClick={() => onEdit(program)}>
            {codeTools.editAsCode}
          </Button>
        )}
      </div>
      {error ? <Notice tone="warning">{errorMessage(error)}</Notice> : null}
      {program === undefined ? (
        !error && <p className={css.hint}>{codeTools.incompleteSteps}</p>
      ) : (
        <Suspense fallback={<Loading />}>
          <CodeEditor label={codeTools.stepsProgram} language="python" value={program} readOnly minHeight={60} />
        </Suspense>
      )}
    </section>
  );
}
