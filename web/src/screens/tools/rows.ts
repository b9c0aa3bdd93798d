// The rows of the tool list: bundles, and the tools of expanded bundles.
import type { Bundle, Tool } from '~/api/tools';

/** A tool with all its versions. `main` is the version that its name refers to. */
export interface ToolGroup {
  main: Tool;
  versions: Tool[];
}

/** The loaded tools of an expanded bundle. */
export interface LoadedBundle {
  tools: Tool[];
  hasMore: boolean;
  isLoading: boolean;
  error: unknown;
  retry: () => void;
  loadMore: () => void;
}

export type Row =
  | { kind: 'bundle'; key: string; bundle: Bundle; loaded: LoadedBundle | undefined; isExpanded: boolean }
  | { kind: 'tool'; key: string; group: ToolGroup; bundle?: Bundle }
  | { kind: 'empty'; key: string }
  | { kind: 'error'; key: string; error: unknown; retry: () => void }
  | { kind: 'more'; key: string; loadMore: () => void };

/** Group tools by name, in the order of their first version. */
export function groupVersions(tools: Tool[]): ToolGroup[] {
  const groups = new Map<string, Tool[]>();
  for (const tool of tools) {
    const key = `${tool.bundleID}/${tool.slug}`;
    const versions = groups.get(key);
    if (versions) versions.push(tool);
    else groups.set(key, [tool]);
  }
  return [...groups.values()].flatMap((versions) => {
    const main = mainVersion(versions);
    return main ? [{ main, versions }] : [];
  });
}

/** Return the newest enabled version, or the newest one if all are disabled. */
export function mainVersion(versions: Tool[]): Tool | undefined {
  const newestFirst = [...versions].sort((a, b) => b.createdAt.localeCompare(a.createdAt));
  return newestFirst.find((tool) => tool.isEnabled) ?? newestFirst[0];
}

/** Return the versions to change when a tool is toggled: enable the main version, or disable all of them. */
export function versionsToToggle({ main, versions }: ToolGroup, isEnabled: boolean): Tool[] {
  return isEnabled ? [main] : versions.filter((version) => version.isEnabled);
}

export function bundleRows(
  bundles: Bundle[],
  expanded: ReadonlySet<string>,
  loadedBundles: ReadonlyMap<string, LoadedBundle>,
): Row[] {
  return bundles.flatMap((bundle) => {
    const loaded = loadedBundles.get(bundle.id);
    const isExpanded = expanded.has(bundle.id);
    const row: Row = { kind: 'bundle', key: bundle.id, bundle, loaded, isExpanded };
    return isExpanded ? [row, ...contentRows(bundle, loaded)] : [row];
  });
}

function contentRows(bundle: Bundle, loaded: LoadedBundle | undefined): Row[] {
  if (loaded?.error) return [{ kind: 'error', key: `${bundle.id}!`, error: loaded.error, retry: loaded.retry }];
  const rows = toolRows(loaded?.tools ?? [], bundle);
  if (loaded?.hasMore || loaded?.isLoading) {
    rows.push({ kind: 'more', key: `${bundle.id}+`, loadMore: loaded.loadMore });
  } else if (loaded && rows.length === 0) {
    rows.push({ kind: 'empty', key: `${bundle.id}-` });
  }
  return rows;
}

export function toolRows(tools: Tool[], bundle?: Bundle): Row[] {
  return groupVersions(tools).map((group) => ({
    kind: 'tool',
    key: `${group.main.bundleID}/${group.main.slug}`,
    group,
    bundle,
  }));
}
