import { Tabs } from '@mantine/core';
import { useState } from 'react';
import type { Tool } from '~/api/tools';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import { Tester } from '~/screens/tester/Tester';
import { ToolDefinition } from './ToolDefinition';
import { ToolHeader } from './ToolHeader';

export function ToolDetails({ main, versions }: { main: Tool; versions: Tool[] }) {
  const messages = useMessages();
  const [selectedVersion, setSelectedVersion] = useState<string | null>(null);
  const tool = versions.find(({ version }) => version === selectedVersion) ?? main;
  return (
    <>
      <ToolHeader tool={tool} versions={versions} onVersion={setSelectedVersion} />
      {tool.disabledReason && (
        <Notice tone="warning">
          <strong>{messages.toolPage.unavailable}</strong> {tool.disabledReason}
        </Notice>
      )}
      <Tabs defaultValue="tester" mt="md" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="tester">{messages.toolPage.testerTab}</Tabs.Tab>
          <Tabs.Tab value="definition">{messages.toolPage.definitionTab}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="tester">
          <Tester key={tool.id} tool={tool} />
        </Tabs.Panel>
        <Tabs.Panel value="definition">
          <ToolDefinition tool={tool} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
