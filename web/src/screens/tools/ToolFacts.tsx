import { Group } from '@mantine/core';
import type { Tool } from '~/api/tools';
import { Tag } from '~/components/Tag';
import { useLanguage } from '~/i18n';
import css from './toolPage.module.css';

export function ToolFacts({ tool, origin }: { tool: Tool; origin?: string }) {
  const { locale, messages } = useLanguage();
  const lastCalled = tool.lastCalledAt && new Date(tool.lastCalledAt).toLocaleString(locale);
  return (
    <Group gap={6} mt="xs">
      <Tag tone="accent">+{tool.slug}</Tag>
      <Tag>
        <code title={messages.toolPage.codeName}>{tool.name}</code>
      </Tag>
      <Tag>{messages.toolPage.type[tool.type] ?? tool.type}</Tag>
      {origin && <Tag icon={origin === 'bundle' ? undefined : 'lock'}>{messages.tools.origin[origin] ?? origin}</Tag>}
      {tool.tags.map((tag) => (
        <Tag key={tag}>#{tag}</Tag>
      ))}
      <span className={css.muted}>
        {messages.tools.callCount(tool.callCount)},{' '}
        {lastCalled ? messages.toolPage.lastCalled(lastCalled) : messages.toolPage.neverCalled}
      </span>
    </Group>
  );
}
