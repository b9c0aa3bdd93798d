import { Button, Kbd } from '@mantine/core';
import { lazy, Suspense, useMemo, useState } from 'react';
import { usePackLoader, useRun, useSignatures } from '~/api/run';
import { Card } from '~/components/Card';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Icon } from '~/components/Icon';
import { Loading } from '~/components/Loading';
import { PageHeader } from '~/components/PageHeader';
import { useMessages } from '~/i18n';
import { SaveAsToolButton } from '~/screens/save-code/SaveAsToolButton';
import { createCompletionSource } from './completions';
import { PackList } from './PackList';
import css from './playground.module.css';
import { RunOutput } from './RunOutput';

const CodeEditor = lazy(() => import('~/components/CodeEditor'));
const STORAGE_KEY = 'onetool-playground';

export default function Playground() {
  const messages = useMessages();
  const signatures = useSignatures();
  const execution = useRun();
  const [code, setCode] = useState(() => sessionStorage.getItem(STORAGE_KEY) ?? '');
  const loadPacks = usePackLoader();
  const complete = useMemo(() => createCompletionSource(loadPacks), [loadPacks]);
  const updateCode = (newCode: string) => {
    setCode(newCode);
    sessionStorage.setItem(STORAGE_KEY, newCode);
  };
  const insert = (text: string) => updateCode(code ? `${code.trimEnd()}\n${text}` : text);
  const run = () => code.trim() !== '' && !execution.isPending && execution.mutate(code);
  return (
    <>
      <PageHeader title={messages.playground.title} lead={messages.playground.lead} />
      <div className={css.columns}>
        <div className={css.main}>
          <Card>
            <Suspense fallback={<Loading />}>
              <CodeEditor
                label={messages.playground.code}
                language="python"
                value={code}
                placeholder={messages.playground.placeholder}
                onChange={updateCode}
                onRun={run}
                complete={complete}
              />
            </Suspense>
            <div className={css.bar}>
              <Button leftSection={<Icon name="play" size={15} />} loading={execution.isPending} onClick={run}>
                {messages.playground.run}
              </Button>
              <Kbd>{messages.playground.runKeys}</Kbd>
              <SaveAsToolButton code={code} />
            </div>
          </Card>
          <Card>
            {execution.error ? <ErrorNotice error={execution.error} /> : null}
            {execution.isPending && <Loading />}
            {execution.data && !execution.isPending && <RunOutput key={execution.submittedAt} run={execution.data} />}
            {execution.isIdle && <p className={css.muted}>{messages.playground.emptyResult}</p>}
          </Card>
        </div>
        <PackList packs={signatures.data?.packs ?? {}} onInsert={insert} />
      </div>
    </>
  );
}
