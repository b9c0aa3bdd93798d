import { type KeyboardEvent, useMemo, useRef, useState } from 'react';
import type { ActivityDetails } from '~/api/activity';
import { Card } from '~/components/Card';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import css from './activity.module.css';
import { RecordDetails } from './RecordDetails';
import { WaterfallItem } from './WaterfallItem';
import { findRow, layOutCalls } from './waterfall';

/** The most calls that the server returns. */
const MAX_CALLS = 1000;

/** A call and the calls inside it on a common time axis, and the details of the selected one. */
export function Waterfall({ root }: { root: ActivityDetails }) {
  const messages = useMessages();
  const { rows, totalMs } = useMemo(() => layOutCalls(root), [root]);
  const [selectedId, setSelectedId] = useState(root.id);
  const selected = Math.max(
    rows.findIndex(({ call }) => call.id === selectedId),
    0,
  );
  const tree = useRef<HTMLDivElement>(null);
  const handleKey = (event: KeyboardEvent) => {
    const target = findRow(rows, selected, event.key);
    if (target === null || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    setSelectedId(rows[target]?.call.id ?? root.id);
    tree.current?.querySelectorAll<HTMLElement>('[role="treeitem"]')[target]?.focus();
  };
  const shown = rows[selected]?.call ?? root;
  return (
    <>
      <Card className={css.waterfall}>
        <div className={css.scroll}>
          <div className={css.axis} aria-hidden="true">
            <span>{messages.common.duration(0)}</span>
            <span>{messages.common.duration(totalMs / 2)}</span>
            <span>{messages.common.duration(totalMs)}</span>
          </div>
          <div role="tree" aria-label={messages.activity.calls(rows.length)} ref={tree}>
            {rows.map((row, index) => (
              <WaterfallItem
                key={row.call.id}
                row={row}
                isSelected={index === selected}
                onSelect={() => setSelectedId(row.call.id)}
                onKeyDown={handleKey}
              />
            ))}
          </div>
        </div>
      </Card>
      {rows.length >= MAX_CALLS && <Notice>{messages.activity.tooMany(MAX_CALLS)}</Notice>}
      <RecordDetails key={shown.id} call={shown} />
    </>
  );
}
