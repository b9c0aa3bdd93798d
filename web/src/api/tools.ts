// Bundles and tools: queries and mutations.
import { type InfiniteData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useChange } from './changes';
import { api, CLIENT_HEADERS, type Schemas, send, unwrap } from './client';
import { toProblem } from './problem';
import type { paths } from './schema';
import { uuid7 } from './uuid';

export type Bundle = Schemas['BundleResponse'];
export type BundleBody = Schemas['BundleBody'];
export type ToolBody = Schemas['ToolBody'];
export type Tool = Schemas['ToolResponse'];
export type ImportResult = Schemas['ImportResponse'];
export type ToolKey = Pick<Tool, 'bundleID' | 'slug' | 'version'>;

/** The largest page that the server returns. */
const MAX_PAGE_SIZE = 256;
const PAGE_SIZE = 100;
/** The longest text that a search accepts. */
const MAX_QUERY_LENGTH = 300;
const VERSION_PATH = '/tools/bundles/{bundleID}/tools/{toolSlug}/version/{version}';

const bundleParams = (bundleID: string) => ({ path: { bundleID } });
const versionParams = ({ bundleID, slug, version }: ToolKey) => ({ path: { bundleID, toolSlug: slug, version } });

/** Load all bundles. They are few compared to the tools. */
export function useBundles() {
  return useQuery({ queryKey: ['bundles'], queryFn: fetchBundles });
}

async function fetchBundles(): Promise<Bundle[]> {
  const bundles: Bundle[] = [];
  let pageToken: string | undefined;
  do {
    const query = { includeDisabled: true, pageSize: MAX_PAGE_SIZE, pageToken };
    const page = await unwrap(api.GET('/tools/bundles', { params: { query } }));
    bundles.push(...page.toolBundles);
    pageToken = page.nextPageToken ?? undefined;
  } while (pageToken);
  return bundles.sort(compareByOrigin);
}

const ORIGINS = ['bundle', 'pack', 'config', 'proxy', 'builtin'];

/** Sort the user's own bundles first and built-in packs last. */
function compareByOrigin(a: Bundle, b: Bundle): number {
  return ORIGINS.indexOf(a.origin) - ORIGINS.indexOf(b.origin) || a.slug.localeCompare(b.slug);
}

interface ToolFilter {
  tags?: string[];
  includeDisabled: boolean;
}

/** Load one page of the tools in a bundle. */
export function fetchBundleTools(bundleID: string, pageToken?: string, filter: ToolFilter = { includeDisabled: true }) {
  const query = { bundleIDs: [bundleID], recommendedPageSize: PAGE_SIZE, pageToken, ...filter };
  return unwrap(api.GET('/tools/tools', { params: { query } }));
}

type ToolPage = Awaited<ReturnType<typeof fetchBundleTools>>;

export const nextPageToken = (page: ToolPage) => page.nextPageToken ?? undefined;

/** Return the tools of all loaded pages. */
export function flattenPages(data: InfiniteData<ToolPage> | undefined): Tool[] {
  return (data?.pages.flatMap((page) => page.toolListItems) ?? []) as Tool[];
}

/** Search tools page by page, best match first. */
export function useToolSearch(q: string, includeDisabled: boolean) {
  return useInfiniteQuery({
    queryKey: ['tools', 'search', q, includeDisabled],
    queryFn: ({ pageParam, signal }) => {
      const query = { q, includeDisabled, pageSize: PAGE_SIZE, pageToken: pageParam };
      return unwrap(api.GET('/tools/tools/search', { params: { query }, signal }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextPageToken,
    enabled: q.trim() !== '',
    placeholderData: (previous) => previous,
  });
}

/** Load the tools of all bundles, page by page. */
export function useTools(includeDisabled: boolean, enabled = true) {
  return useInfiniteQuery({
    queryKey: ['tools', 'all', includeDisabled],
    queryFn: ({ pageParam }) => {
      const query = { includeDisabled, recommendedPageSize: PAGE_SIZE, pageToken: pageParam };
      return unwrap(api.GET('/tools/tools', { params: { query } }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextPageToken,
    enabled,
  });
}

/** Load the tools of a pack by their function names. Empty for a pack that does not exist. */
export function usePackTools(pack: string) {
  return useQuery({
    queryKey: ['tools', 'pack', pack],
    queryFn: async () => {
      const bundle = (await fetchBundles()).find(
        ({ displayName, origin }) => displayName === pack && origin !== 'bundle',
      );
      const tools = new Map<string, Tool>();
      let pageToken: string | undefined;
      do {
        if (!bundle) break;
        const page = await fetchBundleTools(bundle.id, pageToken);
        for (const tool of page.toolListItems as Tool[]) tools.set(tool.name.slice(pack.length + 1), tool);
        pageToken = nextPageToken(page);
      } while (pageToken);
      return tools;
    },
  });
}

/** Load all versions of a tool, newest first. Search ranks exact names first, so one page contains them. */
export function useVersions(bundleID: string, slug: string) {
  return useQuery({
    queryKey: ['tools', 'versions', bundleID, slug],
    queryFn: async () => {
      const query = { q: slug, includeDisabled: true, pageSize: MAX_PAGE_SIZE };
      const page = await unwrap(api.GET('/tools/tools/search', { params: { query } }));
      const isVersion = (tool: Tool) => tool.bundleID === bundleID && tool.slug === slug;
      const versions = (page.toolListItems as Tool[]).filter(isVersion);
      return versions.sort((a, b) => b.createdAt.localeCompare(a.createdAt));
    },
  });
}

/** Find a tool by its name, preferably this version of it. Null if there is none. */
export function useToolByName(name: string, version: string) {
  return useQuery({
    queryKey: ['tools', 'named', name, version],
    queryFn: async () => {
      const query = { q: name.slice(0, MAX_QUERY_LENGTH), includeDisabled: true, pageSize: MAX_PAGE_SIZE };
      const page = await unwrap(api.GET('/tools/tools/search', { params: { query } }));
      const tools = (page.toolListItems as Tool[]).filter((tool) => tool.name === name);
      return tools.find((tool) => tool.version === version) ?? tools[0] ?? null;
    },
  });
}

function useCatalogChange<Args, Result>(mutationFn: (args: Args) => Promise<Result>) {
  return useChange(mutationFn, ['bundles', 'tools']);
}

export const useToggleTool = () =>
  useCatalogChange(async ({ versions, isEnabled }: { versions: ToolKey[]; isEnabled: boolean }) => {
    for (const key of versions) {
      await unwrap(api.PATCH(VERSION_PATH, { params: versionParams(key), body: { isEnabled } }));
    }
  });

export const useToggleBundle = () =>
  useCatalogChange(({ id, isEnabled }: { id: string; isEnabled: boolean }) =>
    unwrap(api.PATCH('/tools/bundles/{bundleID}', { params: bundleParams(id), body: { isEnabled } })),
  );

export const useDeleteTool = () => useCatalogChange(deleteTool);
export const useDeleteBundle = () => useCatalogChange(deleteBundle);
export const usePutTool = () =>
  useCatalogChange(({ key, body }: { key: ToolKey; body: ToolBody }) => putTool(key, body));
export const useCreateBundle = () => useCatalogChange((body: BundleBody) => putBundle(uuid7(), body));
export const useImport = () =>
  useCatalogChange(({ file, baseUrl }: { file: File; baseUrl?: string }) => importFile(file, baseUrl));

export async function putTool(key: ToolKey, body: ToolBody): Promise<Tool> {
  return (await unwrap(api.PUT(VERSION_PATH, { params: versionParams(key), body }))) as Tool;
}

export function putBundle(bundleID: string, body: BundleBody): Promise<Bundle> {
  return unwrap(api.PUT('/tools/bundles/{bundleID}', { params: bundleParams(bundleID), body }));
}

export async function deleteTool(key: ToolKey): Promise<void> {
  await unwrap(api.DELETE(VERSION_PATH, { params: versionParams(key) }));
}

export async function deleteBundle(bundleID: string): Promise<void> {
  await unwrap(api.DELETE('/tools/bundles/{bundleID}', { params: bundleParams(bundleID) }));
}

/** Import a ZIP archive or an OpenAPI document. Detect the type from the first bytes of the file. */
async function importFile(file: File, baseUrl?: string): Promise<ImportResult> {
  const isArchive = (await file.slice(0, 2).text()) === 'PK';
  const route: keyof paths = isArchive ? '/tools/import' : '/tools/import/openapi';
  const query = baseUrl && !isArchive ? `?${new URLSearchParams({ baseUrl })}` : '';
  const headers = { ...CLIENT_HEADERS, 'Content-Type': 'application/octet-stream' };
  const response = await send(route + query, { method: 'POST', headers, body: file });
  const data: unknown = await response.json().catch(() => null);
  if (!response.ok) throw toProblem(response.status, data);
  return data as ImportResult;
}

/** Return the URL path that invokes a tool version. */
export function invokePath({ bundleID, slug, version }: ToolKey): string {
  return `/tools/bundles/${bundleID}/tools/${encodeURIComponent(slug)}/version/${encodeURIComponent(version)}/invoke`;
}
