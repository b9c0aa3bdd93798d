// A list of any length: only the rows that can be seen are in the page.
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { useWords } from '~/i18n';
import { Failed } from '~/parts/parts';
import { BundleRow } from './BundleRow';
import type { Row } from './rows';
import css from './tools.module.css';
import { ToolRow } from './ToolRow';

interface Props {
  rows: Row[];
  withBundle?: boolean;
  /** The key of a row that is brought into sight once it is there. */
  shown?: string;
  onTag: (tag: string) => void;
  onToggle: (bundleID: string) => void;
}

const HEIGHTS: Record<Row['kind'], number> = { bundle: 62, tool: 64, empty: 60, failed: 70, more: 50 };

export function ToolList({ rows, shown, ...props }: Props) {
  const top = useRef<HTMLDivElement>(null);
  const [offset, setOffset] = useState(0);
  useLayoutEffect(() => setOffset(top.current?.offsetTop ?? 0), []);
  const list = useWindowVirtualizer({
    count: rows.length,
    estimateSize: (index) => HEIGHTS[rows[index]!.kind],
    getItemKey: (index) => rows[index]!.key,
    overscan: 8,
    scrollMargin: offset,
  });
  const shownAt = rows.findIndex((row) => row.key === shown);
  const isThere = shownAt >= 0;
  useEffect(() => {
    // Only when it comes: afterwards it may be scrolled away like any other.
    if (isThere) list.scrollToIndex(shownAt, { align: 'center' });
  }, [shown, isThere]);
  return (
    <div ref={top} className={css.list} style={{ height: list.getTotalSize() }}>
      {list.getVirtualItems().map((item) => (
        <div key={item.key} ref={list.measureElement} data-index={item.index} className={css.slot} style={{ transform: `translateY(${item.start - offset}px)` }}>
          <OneRow row={rows[item.index]!} {...props} />
        </div>
      ))}
    </div>
  );
}

function OneRow({ row, withBundle, onTag, onToggle }: Omit<Props, 'rows' | 'shown'> & { row: Row }) {
  const words = useWords();
  switch (row.kind) {
    case 'bundle':
      return <BundleRow bundle={row.bundle} held={row.held} isOpen={row.isOpen} onToggle={() => onToggle(row.bundle.id)} />;
    case 'tool':
      return <ToolRow grouped={row.grouped} bundle={row.bundle} withBundle={withBundle} onTag={onTag} />;
    case 'more':
      return <More loadMore={row.loadMore} />;
    case 'failed':
      return <Failed error={row.error} retry={row.retry} />;
    case 'empty':
      return <div className={css.nothing}>{words.tools.empty}</div>;
  }
}

/** Stands at the end of what was loaded; being seen is what loads the rest. */
function More({ loadMore }: { loadMore: () => void }) {
  const words = useWords();
  useEffect(loadMore, [loadMore]);
  return <div className={css.nothing}>{words.tools.loadMore}</div>;
}
