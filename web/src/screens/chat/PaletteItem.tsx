import type { Tool } from '~/api/tools';
import { useMessages } from '~/i18n';
import type { ToolGroup } from '~/screens/tools/rows';
import { ToolSwitch } from '~/screens/tools/ToolSwitch';
import css from './palette.module.css';

export function PaletteItem({ group, onSelect }: { group: ToolGroup; onSelect: (tool: Tool) => void }) {
  const messages = useMessages();
  const tool = group.main;
  const description = tool.isEnabled
    ? tool.description.split('\n')[0]
    : tool.disabledReason || messages.palette.disabled;
  return (
    <li className={css.item} data-disabled={!tool.isEnabled || undefined}>
      <button
        type="button"
        className={css.choice}
        data-choice
        aria-disabled={!tool.isEnabled}
        onClick={() => tool.isEnabled && onSelect(tool)}
      >
        <span className={css.slug}>+{tool.slug}</span>
        <span className={css.bundle}>{tool.bundleSlug}</span>
        <span className={css.description}>{description}</span>
      </button>
      <ToolSwitch group={group} />
    </li>
  );
}
