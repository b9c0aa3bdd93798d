import { Tabs, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { usePrompts, useResources, useTemplates } from '~/api/contents';
import { Icon } from '~/components/Icon';
import { PageHeader } from '~/components/PageHeader';
import { useMessages } from '~/i18n';
import { EntryList } from './EntryList';
import { PromptItem } from './PromptItem';
import { ResourceItem } from './ResourceItem';
import { TemplateItem } from './TemplateItem';

const SEARCH_DELAY_MS = 200;

/** What MCP servers offer besides tools. */
export default function Resources() {
  const messages = useMessages();
  const [text, setText] = useState('');
  const [query] = useDebouncedValue(text.trim(), SEARCH_DELAY_MS);
  return (
    <>
      <PageHeader title={messages.resources.title} lead={messages.resources.lead} />
      <TextInput
        mb="md"
        aria-label={messages.resources.search}
        placeholder={messages.resources.search}
        leftSection={<Icon name="search" size={16} />}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Tabs defaultValue="resources" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="resources">{messages.resources.resourcesTab}</Tabs.Tab>
          <Tabs.Tab value="templates">{messages.resources.templatesTab}</Tabs.Tab>
          <Tabs.Tab value="prompts">{messages.resources.promptsTab}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="resources">
          <ResourceList query={query} />
        </Tabs.Panel>
        <Tabs.Panel value="templates">
          <TemplateList query={query} />
        </Tabs.Panel>
        <Tabs.Panel value="prompts">
          <PromptList query={query} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}

function ResourceList({ query }: { query: string }) {
  return (
    <EntryList query={useResources(query)}>
      {(resource) => <ResourceItem key={resource.uri} resource={resource} />}
    </EntryList>
  );
}

function TemplateList({ query }: { query: string }) {
  return (
    <EntryList query={useTemplates(query)}>
      {(template) => <TemplateItem key={template.uriTemplate} template={template} />}
    </EntryList>
  );
}

function PromptList({ query }: { query: string }) {
  return (
    <EntryList query={usePrompts(query)}>{(prompt) => <PromptItem key={prompt.name} prompt={prompt} />}</EntryList>
  );
}
