// Bundles and tools: what the screens ask for, and what they change.
import { type InfiniteData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { answerOf, api, OURS, type Schemas, send } from './client';
import { problemOf } from './problem';
import { uuid7 } from './uuid';

export type Bundle = Schemas['BundleAnswer'];
export type ToolBody = Schemas['ToolBody'];
export type Tool = Schemas['ToolAnswer'] & Pick<ToolBody, 'pythonImpl' | 'httpImpl' | 'limits'>;
export type Imported = Schemas['Imported'];
export type ToolKey = Pick<Tool, 'bundleID' | 'slug' | 'version'>;

/** As many as the server gives at once. */
const LARGEST_PAGE = 256;
const PAGE = 100;

const pathOf = ({ bundleID, slug, version }: ToolKey) => ({ path: { bundleID, toolSlug: slug, version } });
const VERSION = '/tools/bundles/{bundleID}/tools/{toolSlug}/version/{version}';

/** All bundles; there are few of them beside the number of tools. */
export function useBundles() {
  return useQuery({ queryKey: ['bundles'], queryFn: allBundles });
}

async function allBundles(): Promise<Bundle[]> {
  const found: Bundle[] = [];
  let pageToken: string | undefined;
  do {
    const query = { includeDisabled: true, pageSize: LARGEST_PAGE, pageToken };
    const page = await answerOf(api.GET('/tools/bundles', { params: { query } }));
    found.push(...page.toolBundles);
    pageToken = page.nextPageToken ?? undefined;
  } while (pageToken);
  return found.sort(byOrigin);
}

const ORIGINS = ['bundle', 'pack', 'config', 'proxy', 'builtin'];

/** What a person made comes first, what we ship last. */
function byOrigin(one: Bundle, other: Bundle): number {
  return ORIGINS.indexOf(one.origin) - ORIGINS.indexOf(other.origin) || one.slug.localeCompare(other.slug);
}

/** One page of what a bundle holds. */
export async function toolsOf(bundleID: string, pageToken?: string, wanted: { tags?: string[]; includeDisabled: boolean } = { includeDisabled: true }) {
  const query = { bundleIDs: [bundleID], recommendedPageSize: PAGE, pageToken, ...wanted };
  return answerOf(api.GET('/tools/tools', { params: { query } }));
}

type Page = Awaited<ReturnType<typeof toolsOf>>;
const nextOf = (page: Page) => page.nextPageToken ?? undefined;
export const flat = (data: InfiniteData<Page> | undefined) => (data?.pages.flatMap((page) => page.toolListItems) ?? []) as Tool[];

/** Tools that fit some words, best first, page by page. */
export function useSearch(q: string, includeDisabled: boolean) {
  return useInfiniteQuery({
    queryKey: ['tools', 'search', q, includeDisabled],
    queryFn: ({ pageParam, signal }) => {
      const query = { q, includeDisabled, pageSize: PAGE, pageToken: pageParam };
      return answerOf(api.GET('/tools/tools/search', { params: { query }, signal }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextOf,
    enabled: q.trim() !== '',
    placeholderData: (before) => before,
  });
}

/** Tools of every bundle, page by page. */
export function useTools(includeDisabled: boolean, enabled = true) {
  return useInfiniteQuery({
    queryKey: ['tools', 'all', includeDisabled],
    queryFn: ({ pageParam }) => {
      const query = { includeDisabled, recommendedPageSize: PAGE, pageToken: pageParam };
      return answerOf(api.GET('/tools/tools', { params: { query } }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextOf,
    enabled,
  });
}

/** Every version of a tool; names that begin so are found first, so one page holds them. */
export function useVersions(bundleID: string, slug: string) {
  return useQuery({
    queryKey: ['tools', 'versions', bundleID, slug],
    queryFn: async () => {
      const query = { q: slug, includeDisabled: true, pageSize: LARGEST_PAGE };
      const page = await answerOf(api.GET('/tools/tools/search', { params: { query } }));
      const own = page.toolListItems.filter((tool) => tool.bundleID === bundleID && tool.slug === slug) as Tool[];
      return own.sort((a, b) => b.createdAt.localeCompare(a.createdAt));
    },
  });
}

/** Change something, then look at everything anew. */
function useChange<Args, Result>(change: (args: Args) => Promise<Result>) {
  const queries = useQueryClient();
  const again = async () => {
    const keys = [['bundles'], ['tools']];
    // What was asked for before the change is still to come, and would be taken for the news.
    await Promise.all(keys.map((queryKey) => queries.cancelQueries({ queryKey })));
    await Promise.all(keys.map((queryKey) => queries.invalidateQueries({ queryKey })));
  };
  return useMutation({ mutationFn: change, onSettled: again });
}

export const useSwitchTool = () =>
  useChange(async ({ versions, on }: { versions: ToolKey[]; on: boolean }) => {
    for (const one of versions) await answerOf(api.PATCH(VERSION, { params: pathOf(one), body: { isEnabled: on } }));
  });

export const useSwitchBundle = () =>
  useChange(({ id, on }: { id: string; on: boolean }) => answerOf(api.PATCH('/tools/bundles/{bundleID}', { params: { path: { bundleID: id } }, body: { isEnabled: on } })));

export const useDeleteTool = () => useChange((tool: ToolKey) => deleteTool(tool));
export const useDeleteBundle = () => useChange((id: string) => deleteBundle(id));
export const usePutTool = () => useChange(({ key, body }: { key: ToolKey; body: ToolBody }) => putTool(key, body));
export const usePutBundle = () => useChange(({ id, body }: { id?: string; body: Schemas['BundleBody'] }) => putBundle(id ?? uuid7(), body));
export const useImport = () => useChange(({ file, baseUrl }: { file: File; baseUrl?: string }) => importFile(file, baseUrl));

export async function putTool(key: ToolKey, body: ToolBody): Promise<Tool> {
  return (await answerOf(api.PUT(VERSION, { params: pathOf(key), body }))) as Tool;
}

export function putBundle(bundleID: string, body: Schemas['BundleBody']): Promise<Bundle> {
  return answerOf(api.PUT('/tools/bundles/{bundleID}', { params: { path: { bundleID } }, body }));
}

export async function deleteTool(key: ToolKey): Promise<void> {
  await answerOf(api.DELETE(VERSION, { params: pathOf(key) }));
}

export async function deleteBundle(bundleID: string): Promise<void> {
  await answerOf(api.DELETE('/tools/bundles/{bundleID}', { params: { path: { bundleID } } }));
}

/** Bring in an archive, or the description of an API; which of them it is, its first bytes say. */
async function importFile(file: File, baseUrl?: string): Promise<Imported> {
  const isArchive = (await file.slice(0, 2).text()) === 'PK';
  const route: keyof import('./schema').paths = isArchive ? '/tools/import' : '/tools/import/openapi';
  const query = baseUrl && !isArchive ? `?${new URLSearchParams({ baseUrl })}` : '';
  const headers = { ...OURS, 'Content-Type': 'application/octet-stream' };
  const response = await send(route + query, { method: 'POST', headers, body: file });
  const told: unknown = await response.json().catch(() => null);
  if (!response.ok) throw problemOf(response.status, told);
  return told as Imported;
}

/** Where a version is called. */
export function invokePath({ bundleID, slug, version }: ToolKey): string {
  return `/tools/bundles/${bundleID}/tools/${encodeURIComponent(slug)}/version/${encodeURIComponent(version)}/invoke`;
}
