// Server-sent events over POST. EventSource only supports GET.
import { CLIENT_HEADERS, send } from './client';
import { throwUnreachable, toProblem } from './problem';

export interface ServerEvent {
  event: string;
  data: unknown;
}

/** Send a POST request and yield its events. A plain JSON call result is yielded as one `result` event. */
export async function* streamPost(url: string, body: unknown, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  const headers = { ...CLIENT_HEADERS, 'Content-Type': 'application/json', Accept: 'text/event-stream' };
  const response = await send(url, { method: 'POST', headers, body: JSON.stringify(body), signal });
  const contentType = response.headers.get('content-type') ?? '';
  if (!contentType.startsWith('text/event-stream')) {
    const data: unknown = await response.json().catch(() => null);
    if (!isCallResult(data)) throw toProblem(response.status, data);
    yield { event: 'result', data };
  } else if (response.body) {
    yield* parseEvents(response.body);
  }
}

/** Split a stream into events. Comments are heartbeats and are skipped. */
export async function* parseEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let buffer = '';
  try {
    for (;;) {
      const { value, done } = await reader.read().catch(throwUnreachable);
      buffer += value ?? '';
      const blocks = buffer.split(/\r?\n\r?\n/);
      buffer = done ? '' : (blocks.pop() ?? '');
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event) yield event;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function parseEvent(block: string): ServerEvent | null {
  let event = 'message';
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith('event:')) event = line.slice(6).trim();
    else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
  }
  return data.length ? { event, data: JSON.parse(data.join('\n')) } : null;
}

function isCallResult(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'ok' in data && 'meta' in data;
}
