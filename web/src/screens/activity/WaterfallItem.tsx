import type { CSSProperties, KeyboardEvent } from 'react';
import { ToolName } from '~/components/ToolName';
import { useMessages } from '~/i18n';
import css from './activity.module.css';
import { OutcomeTag } from './OutcomeTag';
import { formatBytes } from './recordText';
import type { WaterfallRow } from './waterfall';

/** Deeper calls are not indented further, so that their names stay visible. */
const MAX_INDENT = 8;

interface Props {
  row: WaterfallRow;
  isSelected: boolean;
  onSelect: () => void;
  onKeyDown: (event: KeyboardEvent) => void;
}

export function WaterfallItem({ row, isSelected, onSelect, onKeyDown }: Props) {
  const messages = useMessages();
  const { call, depth, left, width } = row;
  return (
    <div
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={isSelected}
      tabIndex={isSelected ? 0 : -1}
      className={css.item}
      onClick={onSelect}
      onKeyDown={onKeyDown}
    >
      <span className={css.tool} style={{ '--indent': Math.min(depth, MAX_INDENT) } as CSSProperties}>
        <ToolName name={call.tool} />
      </span>
      <span className={css.track} aria-hidden="true">
        <span className={call.ok ? css.bar : css.failedBar} style={{ left: `${left}%`, width: `${width}%` }} />
      </span>
      <span className={css.number}>{messages.common.duration(call.durationMs)}</span>
      <span className={css.bytes}>
        {messages.activity.bytes(formatBytes(call.bytesIn), formatBytes(call.bytesOut))}
      </span>
      <OutcomeTag record={call} />
    </div>
  );
}
