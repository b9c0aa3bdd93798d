// Server-sent events of a POST: EventSource knows GET alone.
import { OURS, send } from './client';
import { away, problemOf } from './problem';

export interface ServerEvent {
  event: string;
  data: unknown;
}

/** Send a body and hand on each event as it arrives; a plain JSON answer is the event `result`. */
export async function* post(url: string, body: unknown, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  const headers = { ...OURS, 'Content-Type': 'application/json', Accept: 'text/event-stream' };
  const response = await send(url, { method: 'POST', headers, body: JSON.stringify(body), signal });
  const kind = response.headers.get('content-type') ?? '';
  if (!kind.startsWith('text/event-stream')) {
    const told: unknown = await response.json().catch(() => null);
    if (!isCallAnswer(told)) throw problemOf(response.status, told);
    yield { event: 'result', data: told };
  } else if (response.body) {
    yield* parse(response.body);
  }
}

/** Split a stream into events; comments are heartbeats and are left out. */
export async function* parse(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read().catch(away);
      rest += value ?? '';
      const blocks = rest.split(/\r?\n\r?\n/);
      rest = done ? '' : (blocks.pop() ?? '');
      for (const block of blocks) {
        const event = eventOf(block);
        if (event) yield event;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function eventOf(block: string): ServerEvent | null {
  let event = 'message';
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith('event:')) event = line.slice(6).trim();
    else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
  }
  return data.length ? { event, data: JSON.parse(data.join('\n')) } : null;
}

function isCallAnswer(told: unknown): boolean {
  return typeof told === 'object' && told !== null && 'ok' in told && 'meta' in told;
}
