// The parts of a result, and the bytes of the media among them.
import { useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from './client';
import { apiUrl } from './workspace';

export type ContentPart = Schemas['ContentPart'];

/** Media that the server has stored. */
export interface StoredMedia {
  handle: string;
  mimeType: string;
  size: number;
}

/** Return the stored media among the parts of a result, each once. */
export function storedMedia(parts: readonly ContentPart[]): StoredMedia[] {
  const media = new Map<string, StoredMedia>();
  for (const { handle, mimeType, size } of parts) {
    if (handle) media.set(handle, { handle, mimeType: mimeType ?? '', size: size ?? 0 });
  }
  return [...media.values()];
}

export const resultUrl = (handle: string) => apiUrl(`/results/${encodeURIComponent(handle)}`);

/** Read stored media as text. */
export const useResultText = (handle: string) =>
  useQuery({
    queryKey: ['results', handle],
    queryFn: () => unwrap(api.GET('/results/{handle}', { params: { path: { handle } }, parseAs: 'text' })),
    staleTime: Infinity,
  });
