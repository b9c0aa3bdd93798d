// A conversation as the screen shows it: what was said, and the calls in between.
import type { CallAnswer } from '~/api/calls';
import type { Message } from '~/api/chat';
import { parsedOrText } from '~/api/json';
import type { ServerEvent } from '~/api/stream';

export interface CallShown {
  id: string;
  name: string;
  args: unknown;
  state: 'running' | 'done' | 'failed' | 'discarded' | 'allowed';
  result?: unknown;
  ms?: number;
  /** The question that waits for an answer. */
  approval?: string;
}

export type Entry =
  | { kind: 'user'; text: string }
  | { kind: 'assistant'; text: string }
  | { kind: 'call'; call: CallShown }
  | { kind: 'failed'; text: string };

/** What was kept of a conversation. */
export function entriesOf(messages: Message[]): Entry[] {
  const entries: Entry[] = [];
  for (const message of messages) {
    if (message.role === 'tool') answerCall(entries, message);
    else if (message.role !== 'system' && message.text) entries.push({ kind: message.role, text: message.text });
    for (const { id, name, args } of message.calls) entries.push({ kind: 'call', call: { id, name, args, state: 'running' } });
  }
  return settle(entries);
}

function answerCall(entries: Entry[], message: Message): void {
  const at = entries.findLastIndex((entry) => entry.kind === 'call' && entry.call.id === message.callId);
  const entry = entries[at];
  if (entry?.kind === 'call') entries[at] = changed(entry, { state: message.failed ? 'failed' : 'done', result: parsedOrText(message.text) });
}

type CallEntry = Extract<Entry, { kind: 'call' }>;
const changed = (entry: CallEntry, part: Partial<CallShown>): CallEntry => ({ kind: 'call', call: { ...entry.call, ...part } });

interface Done {
  error: { message: string } | null;
}

/** Add what the server tells to what is shown. */
export function add(entries: Entry[], { event, data }: ServerEvent): Entry[] {
  switch (event) {
    case 'text':
      return addText(entries, (data as { text: string }).text);
    case 'call': {
      const { id, name, args } = data as { id: string; name: string; args: unknown };
      return [...entries, { kind: 'call', call: { id, name, args, state: 'running' } }];
    }
    case 'approval':
      return addApproval(entries, data as { id: string; tool: string; args: unknown });
    case 'result': {
      const { id, ok, data: value, error, meta } = data as { id: string; ok: boolean; data?: unknown; error?: { message: string }; meta?: CallAnswer['meta'] };
      const part: Partial<CallShown> = { state: ok ? 'done' : 'failed', result: ok ? value : error?.message, ms: meta?.durationMs, approval: undefined };
      return update(entries, (call) => call.id === id, part);
    }
    case 'done': {
      const { error } = data as Done;
      return error ? [...entries, { kind: 'failed', text: error.message }] : entries;
    }
    default:
      return entries;
  }
}

function addText(entries: Entry[], text: string): Entry[] {
  const last = entries.at(-1);
  if (last?.kind !== 'assistant') return [...entries, { kind: 'assistant', text }];
  return [...entries.slice(0, -1), { kind: 'assistant', text: last.text + text }];
}

/** A question belongs to the call that waits; a call made inside code has none of its own yet. */
function addApproval(entries: Entry[], asked: { id: string; tool: string; args: unknown }): Entry[] {
  const fits = (call: CallShown) => call.name === asked.tool && call.state === 'running' && !call.approval && JSON.stringify(call.args) === JSON.stringify(asked.args);
  if (entries.some((entry) => entry.kind === 'call' && fits(entry.call))) return update(entries, fits, { approval: asked.id });
  return [...entries, { kind: 'call', call: { id: asked.id, name: asked.tool, args: asked.args, state: 'running', approval: asked.id } }];
}

/** A question was answered. A call made inside code is told no end of its own: the code's result is. */
export function decided(entries: Entry[], approval: string, isAllowed: boolean): Entry[] {
  const ofCode = update(entries, (call) => call.approval === approval && call.id === approval, { approval: undefined, state: isAllowed ? 'allowed' : 'discarded' });
  return update(ofCode, (call) => call.approval === approval, { approval: undefined, ...(isAllowed ? {} : { state: 'discarded' as const }) });
}

/** What is still open when nothing more comes: no answer to it will be heard. */
export function settle(entries: Entry[]): Entry[] {
  return entries.map((entry) => (entry.kind === 'call' && entry.call.state === 'running' ? changed(entry, { state: 'discarded', approval: undefined }) : entry));
}

/** Change the last call that fits: models give the same id to calls of different answers. */
export function update(entries: Entry[], fits: (call: CallShown) => boolean, part: Partial<CallShown>): Entry[] {
  const at = entries.findLastIndex((entry) => entry.kind === 'call' && fits(entry.call));
  return entries.map((entry, index) => (index === at && entry.kind === 'call' ? changed(entry, part) : entry));
}
