import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { Row } from './rows';
import { ToolListRow } from './ToolListRow';
import css from './tools.module.css';

const ESTIMATED_HEIGHTS: Record<Row['kind'], number> = { bundle: 62, tool: 64, empty: 60, error: 70, more: 50 };

interface Props {
  rows: Row[];
  /** The key of the row to scroll to when it appears. */
  scrollTo?: string;
  onTag: (tag: string) => void;
  onToggle: (bundleID: string) => void;
}

/** A virtualized list: only the visible rows are in the document. */
export function ToolList({ rows, scrollTo, ...rowProps }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const [offset, setOffset] = useState(0);
  useLayoutEffect(() => setOffset(container.current?.offsetTop ?? 0), []);
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: (index) => ESTIMATED_HEIGHTS[rows[index]?.kind ?? 'tool'],
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 8,
    scrollMargin: offset,
  });
  const targetIndex = rows.findIndex((row) => row.key === scrollTo);
  const hasTarget = targetIndex >= 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: scroll once, when the row appears, not on later updates.
  useEffect(() => {
    if (hasTarget) virtualizer.scrollToIndex(targetIndex, { align: 'center' });
  }, [scrollTo, hasTarget]);
  return (
    <div ref={container} className={css.list} style={{ height: virtualizer.getTotalSize() }}>
      {virtualizer.getVirtualItems().map(({ index, key, start }) => {
        const row = rows[index];
        return (
          <div
            key={key}
            ref={virtualizer.measureElement}
            data-index={index}
            className={css.slot}
            style={{ transform: `translateY(${start - offset}px)` }}
          >
            {row && <ToolListRow row={row} {...rowProps} />}
          </div>
        );
      })}
    </div>
  );
}
