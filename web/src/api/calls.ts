// Calls of tools, with what they report on the way.
import type { Schemas } from './client';
import { post } from './stream';

export interface Progress {
  done: number;
  total: number | null;
  message: string;
}

export interface CallAnswer {
  ok: boolean;
  value?: unknown;
  error?: { tool: string; code: string; message: string };
  meta: { tool?: string; callId?: string; durationMs?: number; version?: string; reason?: string; handle?: string };
}

interface Told {
  signal: AbortSignal;
  onProgress?: (progress: Progress) => void;
  /** A request that the tool has sent, secrets masked. */
  onRequest?: (text: string) => void;
}

/** Call something and wait for its answer. */
export async function call(path: string, body: Schemas['InvokeBody'] | Schemas['CallBody'], told: Told): Promise<CallAnswer> {
  for await (const { event, data } of post(path, body, told.signal)) {
    if (event === 'progress') told.onProgress?.(data as Progress);
    if (event === 'request') told.onRequest?.((data as { text: string }).text);
    if (event === 'result') return data as CallAnswer;
  }
  throw new Error('The server ended the call without an answer.');
}
