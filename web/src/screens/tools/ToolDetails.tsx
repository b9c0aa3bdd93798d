import { Tabs } from '@mantine/core';
import { useState } from 'react';
import { useHistoryState } from 'wouter/use-browser-location';
import type { Tool } from '~/api/tools';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import { DecisionList } from '~/screens/access/DecisionList';
import { Tester } from '~/screens/tester/Tester';
import type { Args } from '~/screens/tester/useCall';
import { ToolDefinition } from './ToolDefinition';
import { ToolHeader } from './ToolHeader';
import { ToolProgram } from './ToolProgram';

/** A call to prepare, which another page passes when it opens this one. */
export interface PreparedCall {
  args: Args;
  version: string;
}

export function ToolDetails({ main, versions }: { main: Tool; versions: Tool[] }) {
  const messages = useMessages();
  const prepared = useHistoryState<PreparedCall | null>();
  const [selectedVersion, setSelectedVersion] = useState<string | null>(prepared?.version ?? null);
  const tool = versions.find(({ version }) => version === selectedVersion) ?? main;
  const program = tool.codeImpl?.program;
  return (
    <>
      <ToolHeader tool={tool} versions={versions} onVersion={setSelectedVersion} />
      {tool.disabledReason && (
        <Notice tone="warning">
          <strong>{messages.toolPage.unavailable}</strong> {tool.disabledReason}
        </Notice>
      )}
      {tool.hasApp && <Notice>{messages.toolPage.hasApp}</Notice>}
      <Tabs defaultValue="tester" mt="md" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="tester">{messages.toolPage.testerTab}</Tabs.Tab>
          {program && <Tabs.Tab value="program">{messages.codeTools.program}</Tabs.Tab>}
          <Tabs.Tab value="access">{messages.toolPage.accessTab}</Tabs.Tab>
          <Tabs.Tab value="definition">{messages.toolPage.definitionTab}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="tester">
          <Tester key={tool.id} tool={tool} initialArgs={prepared?.args} />
        </Tabs.Panel>
        <Tabs.Panel value="program">
          <ToolProgram program={program ?? ''} />
        </Tabs.Panel>
        <Tabs.Panel value="access">
          <DecisionList tool={tool.name} version={tool.isBuiltIn ? tool.name : `${tool.name}@${tool.version}`} />
        </Tabs.Panel>
        <Tabs.Panel value="definition">
          <ToolDefinition tool={tool} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
