import { Group } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { Card } from '~/components/Card';
import { CopyButton } from '~/components/CopyButton';
import { Loading } from '~/components/Loading';
import { useMessages } from '~/i18n';

const CodeEditor = lazy(() => import('~/components/CodeEditor'));

/** The program of a tool made of code. */
export function ToolProgram({ program }: { program: string }) {
  const messages = useMessages();
  return (
    <Card>
      <Group justify="flex-end" mb="sm">
        <CopyButton text={program} />
      </Group>
      <Suspense fallback={<Loading />}>
        <CodeEditor label={messages.codeTools.program} language="python" value={program.trimEnd()} readOnly />
      </Suspense>
    </Card>
  );
}
