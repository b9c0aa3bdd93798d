// Code that calls tools: write it, run it, see everything that came of it.
import { Button, Kbd } from '@mantine/core';
import { lazy, Suspense, useMemo, useState } from 'react';
import { usePacks, useRun, useSignatures } from '~/api/system';
import { useWords } from '~/i18n';
import { Icon } from '~/parts/Icon';
import { Card, Failed, Head, Loading } from '~/parts/parts';
import { completerOf } from './completions';
import { Outcome } from './Outcome';
import { Packs } from './Packs';
import css from './playground.module.css';

const Editor = lazy(() => import('~/parts/Editor'));
const KEPT = 'onetool-playground';

export default function Playground() {
  const words = useWords();
  const signatures = useSignatures();
  const running = useRun();
  const [code, setCode] = useState(() => sessionStorage.getItem(KEPT) ?? '');
  const packs = usePacks();
  const complete = useMemo(() => completerOf(packs), [packs]);
  const write = (text: string) => {
    setCode(text);
    sessionStorage.setItem(KEPT, text);
  };
  const run = () => code.trim() !== '' && !running.isPending && running.mutate(code);
  return (
    <>
      <Head title={words.playground.title} lead={words.playground.lead} />
      <div className={css.columns}>
        <div className={css.main}>
          <Card>
            <Suspense fallback={<Loading />}>
              <Editor label={words.playground.code} language="python" value={code} placeholder={words.playground.placeholder} onChange={write} onRun={run} complete={complete} />
            </Suspense>
            <div className={css.bar}>
              <Button leftSection={<Icon name="play" size={15} />} loading={running.isPending} onClick={run}>
                {words.playground.run}
              </Button>
              <Kbd>{words.playground.runHint}</Kbd>
            </div>
          </Card>
          <Card>
            {running.error ? <Failed error={running.error} /> : null}
            {running.isPending && <Loading />}
            {running.data && !running.isPending && <Outcome key={running.submittedAt} answer={running.data} />}
            {running.isIdle && <p className={css.soft}>{words.playground.nothing}</p>}
          </Card>
        </div>
        <Packs packs={signatures.data?.packs ?? {}} onInsert={(text) => write(code ? `${code.trimEnd()}\n${text}` : text)} />
      </div>
    </>
  );
}
