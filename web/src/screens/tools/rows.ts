// What the list of tools shows, row by row: bundles, and below those that are open their tools.
import type { Bundle, Tool } from '~/api/tools';

/** A tool with all its versions; `main` is the one that its name stands for. */
export interface Grouped {
  main: Tool;
  versions: Tool[];
}

/** What is known of an open bundle. */
export interface Held {
  tools: Tool[];
  hasMore: boolean;
  isLoading: boolean;
  error: unknown;
  retry: () => void;
  loadMore: () => void;
}

export type Row =
  | { kind: 'bundle'; key: string; bundle: Bundle; held: Held | undefined; isOpen: boolean }
  | { kind: 'tool'; key: string; grouped: Grouped; bundle?: Bundle }
  | { kind: 'empty'; key: string; bundle: Bundle }
  | { kind: 'failed'; key: string; error: unknown; retry: () => void }
  | { kind: 'more'; key: string; loadMore: () => void };

/** Put the versions of each tool together, in the order in which the tools came. */
export function groupVersions(tools: Tool[]): Grouped[] {
  const groups = new Map<string, Tool[]>();
  for (const tool of tools) {
    const key = `${tool.bundleID}/${tool.slug}`;
    const group = groups.get(key);
    if (group) group.push(tool);
    else groups.set(key, [tool]);
  }
  return [...groups.values()].map((versions) => ({ main: mainOf(versions), versions }));
}

/** A name stands for the newest version that is switched on. */
export function mainOf(versions: Tool[]): Tool {
  const newest = [...versions].sort((a, b) => b.createdAt.localeCompare(a.createdAt));
  return newest.find((tool) => tool.isEnabled) ?? newest[0]!;
}

/** What a switch of a tool concerns: off means that no version answers any more, on brings back the main one. */
export function switched({ main, versions }: Grouped, on: boolean): Tool[] {
  return on ? [main] : versions.filter((one) => one.isEnabled);
}

/** The rows of all bundles. */
export function bundleRows(bundles: Bundle[], open: ReadonlySet<string>, held: ReadonlyMap<string, Held>): Row[] {
  return bundles.flatMap((bundle) => {
    const inside = held.get(bundle.id);
    const isOpen = open.has(bundle.id);
    const head: Row = { kind: 'bundle', key: bundle.id, bundle, held: inside, isOpen };
    return isOpen ? [head, ...insideRows(bundle, inside)] : [head];
  });
}

function insideRows(bundle: Bundle, held: Held | undefined): Row[] {
  if (held?.error) return [{ kind: 'failed', key: `${bundle.id}!`, error: held.error, retry: held.retry }];
  const rows = toolRows(held?.tools ?? [], bundle);
  if (held?.hasMore || held?.isLoading) rows.push({ kind: 'more', key: `${bundle.id}+`, loadMore: held.loadMore });
  else if (held && rows.length === 0) rows.push({ kind: 'empty', key: `${bundle.id}-`, bundle });
  return rows;
}

/** The rows of tools, wherever they come from. */
export function toolRows(tools: Tool[], bundle?: Bundle): Row[] {
  return groupVersions(tools).map((grouped) => ({ kind: 'tool', key: `${grouped.main.bundleID}/${grouped.main.slug}`, grouped, bundle }));
}
