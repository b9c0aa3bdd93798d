// Tool calls with progress events.
import type { Schemas } from './client';
import type { ContentPart } from './content';
import type { Question } from './jobs';
import { streamPost } from './sse';

export interface Progress {
  done: number;
  total: number | null;
  message: string;
}

export interface CallResult {
  ok: boolean;
  value?: unknown;
  content?: ContentPart[];
  error?: { tool: string; code: string; message: string };
  meta: { tool?: string; callId?: string; durationMs?: number; version?: string; reason?: string; handle?: string };
}

interface CallHandlers {
  signal: AbortSignal;
  onProgress?: (progress: Progress) => void;
  /** Receives each HTTP request that the tool sends, with secrets masked. */
  onRequest?: (text: string) => void;
  /** Receives each question. The call waits for its answer. */
  onQuestion?: (question: Question) => void;
}

/** Call a tool and wait for its result. */
export async function invoke(
  path: string,
  body: Schemas['InvokeBody'] | Schemas['CallBody'],
  handlers: CallHandlers,
): Promise<CallResult> {
  for await (const { event, data } of streamPost(path, body, handlers.signal)) {
    if (event === 'progress') handlers.onProgress?.(data as Progress);
    if (event === 'request') handlers.onRequest?.((data as { text: string }).text);
    if (event === 'question') handlers.onQuestion?.(data as Question);
    if (event === 'result') return data as CallResult;
  }
  throw new Error('The server ended the call without a result.');
}

/** Wrap an error of the client as the result of a failed call. */
export function failedCall(message: string): CallResult {
  return { ok: false, error: { tool: '', code: '', message }, meta: {} };
}
