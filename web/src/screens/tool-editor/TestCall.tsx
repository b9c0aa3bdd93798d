import { Button } from '@mantine/core';
import { lazy, Suspense, useId, useState } from 'react';
import { type CallResult, failedCall, invoke } from '~/api/calls';
import type { Question } from '~/api/jobs';
import { errorMessage } from '~/api/problem';
import { deleteBundle, deleteTool, invokePath, putBundle, putTool, type ToolBody } from '~/api/tools';
import { uuid7 } from '~/api/uuid';
import { Icon } from '~/components/Icon';
import { Loading } from '~/components/Loading';
import type { Args } from '~/forms/SchemaForm';
import { useMessages } from '~/i18n';
import { QuestionList } from '~/questions/QuestionList';
import { CallOutput } from '~/screens/tester/CallOutput';
import css from './toolEditor.module.css';

const SchemaForm = lazy(() => import('~/forms/SchemaForm'));
const TIMEOUT_MS = 120_000;

/** Calls a tool that is not saved yet. */
export function TestCall({ body }: { body: ToolBody }) {
  const messages = useMessages();
  const id = useId();
  const [args, setArgs] = useState<Args>({});
  const [isRunning, setRunning] = useState(false);
  const [output, setOutput] = useState<{ result: CallResult; ms: number } | null>(null);
  const [questions, setQuestions] = useState<Question[]>([]);
  const isProgram = body.type === 'code';
  const run = async () => {
    setRunning(true);
    setOutput(null);
    const startedAt = performance.now();
    const result = await callDraft(body, args, (question) => setQuestions((previous) => [...previous, question]));
    setOutput({ result, ms: result.meta.durationMs ?? performance.now() - startedAt });
    setRunning(false);
    setQuestions([]);
  };
  return (
    <>
      <p className={css.muted}>{isProgram ? messages.codeTools.testHint : messages.editor.testHint}</p>
      <Suspense fallback={<Loading />}>
        <SchemaForm id={id} schema={body.argSchema ?? {}} value={args} onChange={setArgs} onSubmit={() => void run()} />
      </Suspense>
      <div>
        <Button
          type="submit"
          form={id}
          variant="light"
          loading={isRunning}
          leftSection={<Icon name="play" size={15} />}
        >
          {isProgram ? messages.codeTools.runTest : messages.editor.runTest}
        </Button>
      </div>
      <QuestionList
        questions={questions}
        onAnswered={(answered) => setQuestions((previous) => previous.filter((question) => question.id !== answered))}
      />
      {output && <CallOutput result={output.result} ms={output.ms} />}
    </>
  );
}

/** Store the tool in a temporary bundle, call it, and delete both. */
async function callDraft(body: ToolBody, args: Args, onQuestion: (question: Question) => void): Promise<CallResult> {
  const bundleID = uuid7();
  const key = { bundleID, slug: 'draft', version: 'v1' };
  const slug = `draft-${bundleID.slice(-8)}`;
  const cleanups: (() => Promise<void>)[] = [];
  try {
    await putBundle(bundleID, { slug, displayName: '', description: '', isEnabled: true });
    cleanups.push(() => deleteBundle(bundleID));
    await putTool(key, body);
    cleanups.push(() => deleteTool(key));
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    return await invoke(invokePath(key), { args } as never, { signal, onQuestion });
  } catch (error) {
    return failedCall(errorMessage(error));
  } finally {
    for (const cleanUp of cleanups.reverse()) await cleanUp().catch(() => {});
  }
}
