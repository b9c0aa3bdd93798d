// What came of a run: the result, what was printed, which tools were called.
import { Button, Group, Tabs } from '@mantine/core';
import { useCallback, useEffect, useState } from 'react';
import { type RunAnswer, useRun } from '~/api/system';
import { useWords } from '~/i18n';
import { Failed, Note, Pre, Tag } from '~/parts/parts';
import { Value } from '~/screens/tester/Result';
import css from './playground.module.css';

export function Outcome({ answer }: { answer: RunAnswer }) {
  const words = useWords();
  return (
    <>
      <div className={css.state} role="status">
        <Tag mood={answer.ok ? 'good' : 'bad'} icon={answer.ok ? 'check' : 'alert'}>
          {answer.ok ? words.playground.ok : words.playground.failed}
        </Tag>
      </div>
      {answer.error && <Note mood="bad">{<span className={css.message}>{answer.error.message}</span>}</Note>}
      <Tabs defaultValue={answer.ok ? 'result' : 'calls'} keepMounted={false}>
        <Tabs.List mb="sm">
          {answer.ok && <Tabs.Tab value="result">{words.playground.result}</Tabs.Tab>}
          {answer.printed && <Tabs.Tab value="printed">{words.playground.printed}</Tabs.Tab>}
          <Tabs.Tab value="calls">
            {words.playground.calls} ({answer.calls.length})
          </Tabs.Tab>
          <Tabs.Tab value="model">{words.playground.model}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="result">{answer.handle ? <Pages handle={answer.handle} /> : <Value value={answer.data ?? null} />}</Tabs.Panel>
        <Tabs.Panel value="printed">
          <Pre label={words.playground.printed}>{answer.printed ?? ''}</Pre>
        </Tabs.Panel>
        <Tabs.Panel value="calls">
          <Calls calls={answer.calls} />
        </Tabs.Panel>
        <Tabs.Panel value="model">
          <Pre label={words.playground.model}>{answer.text}</Pre>
        </Tabs.Panel>
      </Tabs>
    </>
  );
}

function Calls({ calls }: { calls: RunAnswer['calls'] }) {
  const words = useWords();
  if (calls.length === 0) return <p className={css.soft}>{words.playground.noCalls}</p>;
  return (
    <ol className={css.calls}>
      {calls.map((call, at) => (
        <li key={at}>
          <code>{call.name}</code>
          <Tag mood={call.ok ? 'good' : 'bad'}>{words.common.ms(call.durationMs)}</Tag>
        </li>
      ))}
    </ol>
  );
}

const LINES = 100;

/** A result that was kept aside, page by page. */
function Pages({ handle }: { handle: string }) {
  const words = useWords();
  const reading = useRun();
  const [offset, setOffset] = useState(1);
  const { mutate } = reading;
  const turn = useCallback(
    (to: number) => {
      setOffset(to);
      mutate(`ot.result(handle=${JSON.stringify(handle)}, offset=${to}, limit=${LINES})`);
    },
    [handle, mutate],
  );
  useEffect(() => turn(1), [turn]);
  const shown: unknown = reading.data?.data;
  const lines = (shown as { total_lines?: number } | undefined)?.total_lines ?? Infinity;
  return (
    <>
      <Note>{words.playground.handle}</Note>
      <Group my="sm">
        <Button size="compact-sm" variant="default" disabled={offset === 1} onClick={() => turn(Math.max(1, offset - LINES))}>
          {words.playground.previous}
        </Button>
        <span className={css.soft}>
          {words.playground.page} {Math.ceil(offset / LINES)}
        </span>
        <Button size="compact-sm" variant="default" loading={reading.isPending} disabled={offset + LINES > lines} onClick={() => turn(offset + LINES)}>
          {words.playground.next}
        </Button>
        <code>{handle}</code>
      </Group>
      {reading.error ? <Failed error={reading.error} /> : null}
      {shown !== undefined && <Value value={shown} />}
    </>
  );
}
