import { Group } from '@mantine/core';
import { isStepsImpl } from '~/api/code';
import type { Tool } from '~/api/tools';
import { Tag } from '~/components/Tag';
import { useLanguage } from '~/i18n';
import css from './toolPage.module.css';

export function ToolFacts({ tool, origin }: { tool: Tool; origin?: string }) {
  const { locale, messages } = useLanguage();
  const lastCalled = tool.lastCalledAt && new Date(tool.lastCalledAt).toLocaleString(locale);
  const kind = isStepsImpl(tool.codeImpl) ? 'steps' : tool.type;
  return (
    <Group gap={6} mt="xs">
      <Tag>{messages.toolPage.type[kind] ?? kind}</Tag>
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
