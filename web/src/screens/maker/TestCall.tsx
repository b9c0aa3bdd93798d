// A call of a tool that is not saved: it is stored for a moment in a bundle of its own, called, and removed.
import { Button } from '@mantine/core';
import { lazy, Suspense, useId, useState } from 'react';
import { call, type CallAnswer } from '~/api/calls';
import { messageOf } from '~/api/problem';
import { deleteBundle, deleteTool, invokePath, putBundle, putTool, type ToolBody } from '~/api/tools';
import { uuid7 } from '~/api/uuid';
import type { Args } from '~/forms/SchemaForm';
import { useWords } from '~/i18n';
import { Icon } from '~/parts/Icon';
import { Loading } from '~/parts/parts';
import { Result } from '~/screens/tester/Result';
import css from './maker.module.css';

const SchemaForm = lazy(() => import('~/forms/SchemaForm'));

export function TestCall({ body }: { body: ToolBody }) {
  const words = useWords();
  const id = useId();
  const [args, setArgs] = useState<Args>({});
  const [isRunning, setRunning] = useState(false);
  const [made, setMade] = useState<{ answer: CallAnswer; ms: number } | null>(null);
  const run = async () => {
    setRunning(true);
    const begun = performance.now();
    const answer = await tryOnce(body, args);
    setMade({ answer, ms: answer.meta.durationMs ?? performance.now() - begun });
    setRunning(false);
  };
  return (
    <>
      <p className={css.soft}>{words.maker.tryLead}</p>
      <Suspense fallback={<Loading />}>
        <SchemaForm id={id} schema={body.argSchema ?? {}} value={args} onChange={setArgs} onSubmit={() => void run()}>
          <span />
        </SchemaForm>
      </Suspense>
      <div>
        <Button type="submit" form={id} variant="light" loading={isRunning} leftSection={<Icon name="play" size={15} />}>
          {words.maker.tryRun}
        </Button>
      </div>
      {made && <Result answer={made.answer} ms={made.ms} />}
    </>
  );
}

async function tryOnce(body: ToolBody, args: Args): Promise<CallAnswer> {
  const bundleID = uuid7();
  const key = { bundleID, slug: 'draft', version: 'v1' };
  const begun: (() => Promise<void>)[] = [];
  try {
    await putBundle(bundleID, { slug: `draft-${bundleID.slice(-8)}`, displayName: '', description: '', isEnabled: true });
    begun.push(() => deleteBundle(bundleID));
    await putTool(key, body);
    begun.push(() => deleteTool(key));
    return await call(invokePath(key), { args } as never, { signal: AbortSignal.timeout(120_000) });
  } catch (error) {
    return { ok: false, error: { tool: '', code: '', message: messageOf(error) }, meta: {} };
  } finally {
    for (const undo of begun.reverse()) await undo().catch(() => {});
  }
}
