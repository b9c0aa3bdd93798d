import { Tabs } from '@mantine/core';
import type { RunResponse } from '~/api/run';
import { CodeBlock } from '~/components/CodeBlock';
import { MediaParts } from '~/components/MediaParts';
import { Notice } from '~/components/Notice';
import { Tag } from '~/components/Tag';
import { useMessages } from '~/i18n';
import { ValueView } from '~/screens/tester/ValueView';
import { NestedCalls } from './NestedCalls';
import css from './playground.module.css';
import { StoredResult } from './StoredResult';

/** The result of a run, its printed output and the tool calls it made. */
export function RunOutput({ run }: { run: RunResponse }) {
  const messages = useMessages();
  return (
    <>
      <div className={css.status} role="status">
        <Tag tone={run.ok ? 'success' : 'danger'} icon={run.ok ? 'check' : 'alert'}>
          {run.ok ? messages.playground.succeeded : messages.playground.failed}
        </Tag>
      </div>
      {run.error && (
        <Notice tone="danger">
          <span className={css.message}>{run.error.message}</span>
        </Notice>
      )}
      <Tabs defaultValue={run.ok ? 'result' : 'calls'} keepMounted={false}>
        <Tabs.List mb="sm">
          {run.ok && <Tabs.Tab value="result">{messages.playground.result}</Tabs.Tab>}
          {run.printed && <Tabs.Tab value="printed">{messages.playground.printed}</Tabs.Tab>}
          <Tabs.Tab value="calls">
            {messages.playground.calls} ({run.calls.length})
          </Tabs.Tab>
          <Tabs.Tab value="model">{messages.playground.modelText}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="result">
          {run.handle ? <StoredResult handle={run.handle} /> : <ValueView value={run.data ?? null} />}
          <MediaParts parts={run.content ?? []} />
        </Tabs.Panel>
        <Tabs.Panel value="printed">
          <CodeBlock label={messages.playground.printed}>{run.printed ?? ''}</CodeBlock>
        </Tabs.Panel>
        <Tabs.Panel value="calls">
          <NestedCalls calls={run.calls} />
        </Tabs.Panel>
        <Tabs.Panel value="model">
          <CodeBlock label={messages.playground.modelText}>{run.text}</CodeBlock>
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
