import type { Tool } from '~/api/tools';
import { useMessages } from '~/i18n';
import css from './tools.module.css';

export function StatusDot({ tool }: { tool: Tool }) {
  const messages = useMessages();
  const status = tool.disabledReason ? 'unavailable' : tool.isEnabled ? 'enabled' : 'disabled';
  const label = status === 'unavailable' ? messages.tools.unavailable : messages.common[status];
  return (
    <span
      className={css.statusDot}
      data-status={status}
      role="img"
      aria-label={label}
      title={tool.disabledReason ?? label}
    />
  );
}
