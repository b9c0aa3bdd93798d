import type { Tool } from '~/api/tools';
import { ToolName } from '~/components/ToolName';
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
        <ToolName name={tool.name} title={tool.displayName} />
        <span className={css.description}>{description}</span>
      </button>
      <ToolSwitch group={group} />
    </li>
  );
}
