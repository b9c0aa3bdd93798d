import { Button, Group } from '@mantine/core';
import { type KeyboardEvent, lazy, Suspense, useId, useState } from 'react';
import { invokePath, type Tool } from '~/api/tools';
import { Card } from '~/components/Card';
import { Icon } from '~/components/Icon';
import { Loading } from '~/components/Loading';
import { ToolName } from '~/components/ToolName';
import type { Args } from '~/forms/SchemaForm';
import { useMessages } from '~/i18n';
import { QuestionList } from '~/questions/QuestionList';
import { type CompletedCall, useCall } from '~/screens/tester/useCall';
import css from './chat.module.css';

const SchemaForm = lazy(() => import('~/forms/SchemaForm'));

interface Props {
  tool: Tool;
  onDone: (call: CompletedCall) => void;
  onClose: () => void;
}

/** The argument form of a tool that was selected in the palette. */
export function ToolCallForm({ tool, onDone, onClose }: Props) {
  const messages = useMessages();
  const id = useId();
  const [args, setArgs] = useState<Args>({});
  const { run, stop, questions, removeQuestion, isRunning } = useCall(invokePath(tool));
  const submit = async () => {
    const call = await run(args);
    if (call?.result) onDone(call);
  };
  const handleKey = (event: KeyboardEvent) => {
    const isInOpenList = (event.target as HTMLElement).getAttribute('aria-expanded') === 'true';
    if (event.key === 'Escape' && !isInOpenList) onClose();
  };
  return (
    <Card className={css.toolCall}>
      <section aria-label={tool.name} onKeyDown={handleKey}>
        <h2>
          <ToolName name={tool.name} title={tool.displayName} />
        </h2>
        <p className={css.muted}>{tool.description.split('\n')[0]}</p>
        <Suspense fallback={<Loading />}>
          <SchemaForm
            id={id}
            schema={tool.argSchema}
            value={args}
            disabled={isRunning}
            onChange={setArgs}
            onSubmit={() => void submit()}
          />
        </Suspense>
        <QuestionList questions={questions} onAnswered={removeQuestion} />
        <Group gap={8} mt="md">
          <Button type="submit" form={id} loading={isRunning} leftSection={<Icon name="play" size={15} />} autoFocus>
            {messages.palette.run}
          </Button>
          <Button variant="default" onClick={isRunning ? stop : onClose}>
            {isRunning ? messages.tester.stop : messages.common.cancel}
          </Button>
        </Group>
      </section>
    </Card>
  );
}
