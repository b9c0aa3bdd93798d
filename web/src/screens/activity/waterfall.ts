// The rows and bars of a call and the calls inside it.
import type { ActivityDetails } from '~/api/activity';

export interface WaterfallRow {
  call: ActivityDetails;
  /** 0 for the outermost call. */
  depth: number;
  /** Index of the row of the caller; -1 for the outermost call. */
  parent: number;
  /** Start and length of the bar in percent of the time axis. */
  left: number;
  width: number;
}

/** Return a row for each call, the callers before the calls that they made, and the length of the time axis. */
export function layOutCalls(root: ActivityDetails): { rows: WaterfallRow[]; totalMs: number } {
  const rows: WaterfallRow[] = [];
  const add = (call: ActivityDetails, depth: number, parent: number) => {
    const index = rows.push({ call, depth, parent, left: 0, width: 100 }) - 1;
    const calls = [...call.calls].sort((a, b) => a.startedAt - b.startedAt);
    for (const inner of calls) add(inner, depth + 1, index);
  };
  add(root, 0, -1);
  const startMs = Math.min(...rows.map(({ call }) => 1000 * call.startedAt));
  const totalMs = Math.max(...rows.map(({ call }) => 1000 * call.startedAt + call.durationMs - startMs));
  if (!(totalMs > 0)) return { rows, totalMs: 0 };
  for (const row of rows) {
    row.left = (100 * (1000 * row.call.startedAt - startMs)) / totalMs;
    row.width = Math.min((100 * row.call.durationMs) / totalMs, 100 - row.left);
  }
  return { rows, totalMs };
}

/** Return the row that a key moves to; null for other keys. */
export function findRow(rows: WaterfallRow[], index: number, key: string): number | null {
  const targets: Record<string, number> = {
    ArrowDown: Math.min(index + 1, rows.length - 1),
    ArrowUp: Math.max(index - 1, 0),
    ArrowLeft: Math.max(rows[index]?.parent ?? 0, 0),
    ArrowRight: rows[index + 1]?.parent === index ? index + 1 : index,
    Home: 0,
    End: rows.length - 1,
  };
  return targets[key] ?? null;
}
