import { Group } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { Tool } from '~/api/tools';
import { Card } from '~/components/Card';
import { CopyButton } from '~/components/CopyButton';
import { Loading } from '~/components/Loading';
import { useMessages } from '~/i18n';
import css from './toolPage.module.css';

const CodeEditor = lazy(() => import('~/components/CodeEditor'));

export function ToolDefinition({ tool }: { tool: Tool }) {
  const messages = useMessages();
  const text = JSON.stringify(tool, null, 2);
  return (
    <Card>
      <Group justify="space-between" mb="sm">
        <span className={css.muted}>{tool.isBuiltIn ? messages.toolPage.readOnly : ''}</span>
        <CopyButton text={text} />
      </Group>
      <Suspense fallback={<Loading />}>
        <CodeEditor label={messages.toolPage.definitionTab} language="json" value={text} readOnly />
      </Suspense>
    </Card>
  );
}
