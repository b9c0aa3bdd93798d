// Resources, templates and prompts of MCP servers.
import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from './client';

export type Resource = Schemas['ResourceResponse'];
export type Template = Schemas['TemplateResponse'];
export type PromptDefinition = Schemas['PromptResponse'];
export type PromptMessage = Schemas['PromptMessage'];
export type Reference = Schemas['CompleteBody']['ref'];
type ListPath = '/resources' | '/resources/templates' | '/prompts';

const PAGE_SIZE = 100;

/** List entries that contain a text, page by page. */
function useContents<T>(path: ListPath, query: string, field: string) {
  return useInfiniteQuery({
    queryKey: ['contents', path, query],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }) => {
      const params = { query: pageParam ? { pageToken: pageParam } : { query, pageSize: PAGE_SIZE } };
      const page = await unwrap<{ nextPageToken?: string | null }>(api.GET(path, { params }));
      return { items: (page as Record<string, unknown>)[field] as T[], next: page.nextPageToken ?? undefined };
    },
    getNextPageParam: ({ next }) => next,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
    placeholderData: (previous) => previous,
  });
}

export const useResources = (query: string) => useContents<Resource>('/resources', query, 'resources');
export const useTemplates = (query: string) => useContents<Template>('/resources/templates', query, 'templates');
export const usePrompts = (query: string) => useContents<PromptDefinition>('/prompts', query, 'prompts');

export const useReadResource = () =>
  useMutation({
    mutationFn: (uri: string) => unwrap(api.GET('/resources/read', { params: { query: { uri } } })),
  });

export const useGetPrompt = (name: string) =>
  useMutation({
    mutationFn: (args: Record<string, string>) =>
      unwrap(api.POST('/prompts/{name}', { params: { path: { name } }, body: { arguments: args } })),
  });

/** Load the values that the server suggests for an argument. */
export const useCompletion = (ref: Reference, name: string, value: string, known: Record<string, string>) =>
  useQuery({
    queryKey: ['completion', ref, name, value, known],
    queryFn: async () => {
      const body = { ref, argument: { name, value }, context: { arguments: known } };
      return (await unwrap(api.POST('/complete', { body }))).values;
    },
    placeholderData: (previous) => previous,
    retry: false,
  });
