// A tool that was taken from the palette: its arguments, and Run.
import { Button, Group } from '@mantine/core';
import { type KeyboardEvent, lazy, Suspense, useId, useState } from 'react';
import { invokePath, type Tool } from '~/api/tools';
import type { Args } from '~/forms/SchemaForm';
import { useWords } from '~/i18n';
import { Icon } from '~/parts/Icon';
import { Card, Loading } from '~/parts/parts';
import { type Made, useCall } from '~/screens/tester/useCall';
import css from './chat.module.css';

const SchemaForm = lazy(() => import('~/forms/SchemaForm'));

interface Props {
  tool: Tool;
  onDone: (made: Made) => void;
  onClose: () => void;
}

export function ToolCall({ tool, onDone, onClose }: Props) {
  const words = useWords();
  const id = useId();
  const [args, setArgs] = useState<Args>({});
  const calling = useCall(invokePath(tool));
  const run = async () => {
    const made = await calling.run(args);
    if (made?.answer) onDone(made);
  };
  const leave = (event: KeyboardEvent) => {
    const isInList = (event.target as HTMLElement).getAttribute('aria-expanded') === 'true';
    if (event.key === 'Escape' && !isInList) onClose();
  };
  return (
    <Card className={css.toolCall}>
      <section aria-label={`+${tool.slug}`} onKeyDown={leave}>
        <h2>+{tool.slug}</h2>
        <p className={css.soft}>{tool.description.split('\n')[0]}</p>
        <Suspense fallback={<Loading />}>
          <SchemaForm id={id} schema={tool.argSchema} value={args} disabled={calling.isRunning} onChange={setArgs} onSubmit={() => void run()}>
            <span />
          </SchemaForm>
        </Suspense>
        <Group gap={8} mt="md">
          <Button type="submit" form={id} loading={calling.isRunning} leftSection={<Icon name="play" size={15} />} autoFocus>
            {words.palette.run}
          </Button>
          <Button variant="default" onClick={calling.isRunning ? calling.stop : onClose}>
            {calling.isRunning ? words.tester.cancel : words.common.cancel}
          </Button>
        </Group>
      </section>
    </Card>
  );
}
