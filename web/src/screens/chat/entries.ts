// The entries of a conversation: messages and the tool calls between them.
import type { CallResult } from '~/api/calls';
import type { Message } from '~/api/chat';
import type { ContentPart } from '~/api/content';
import type { Answer, Question } from '~/api/jobs';
import { parseJsonOrText } from '~/api/json';
import type { ServerEvent } from '~/api/sse';
import type { ChatFile } from './chatFiles';

export interface ToolCallView {
  id: string;
  name: string;
  args: unknown;
  /** `approved` is the final state of a call made by code: its result is part of the code's result. */
  state: 'running' | 'done' | 'failed' | 'discarded' | 'approved';
  result?: unknown;
  /** The media in the result. */
  media?: readonly ContentPart[];
  ms?: number;
  /** The approval that waits for the user's decision. */
  approval?: Question;
}

export type Entry =
  | { kind: 'user'; text: string; files?: ChatFile[]; media?: readonly ContentPart[] }
  | { kind: 'assistant'; text: string }
  | { kind: 'call'; call: ToolCallView }
  | { kind: 'question'; question: Question; answer?: Answer['action'] }
  | { kind: 'error'; text: string };

type CallEntry = Extract<Entry, { kind: 'call' }>;

/** Convert the messages of a stored session. */
export function entriesFromMessages(messages: Message[]): Entry[] {
  const entries: Entry[] = [];
  for (const message of messages) {
    if (message.role === 'tool') setCallResult(entries, message);
    else if (message.role === 'user') entries.push({ kind: 'user', text: message.text, media: message.content });
    else if (message.role !== 'system' && message.text) entries.push({ kind: message.role, text: message.text });
    for (const { id, name, args } of message.calls) {
      entries.push({ kind: 'call', call: { id, name, args, state: 'running' } });
    }
  }
  return closePendingCalls(entries);
}

function setCallResult(entries: Entry[], message: Message): void {
  const index = entries.findLastIndex((entry) => entry.kind === 'call' && entry.call.id === message.callId);
  const entry = entries[index];
  if (entry?.kind !== 'call') return;
  const state = message.failed ? 'failed' : 'done';
  entries[index] = withChanges(entry, { state, result: parseJsonOrText(message.text), media: message.content });
}

interface ResultEvent {
  id: string;
  ok: boolean;
  data?: unknown;
  error?: { message: string };
  content?: ContentPart[];
  meta?: CallResult['meta'];
}

/** Apply an event of the chat stream. */
export function applyEvent(entries: Entry[], { event, data }: ServerEvent): Entry[] {
  switch (event) {
    case 'text':
      return appendText(entries, (data as { text: string }).text);
    case 'call': {
      const { id, name, args } = data as { id: string; name: string; args: unknown };
      return [...entries, { kind: 'call', call: { id, name, args, state: 'running' } }];
    }
    case 'question':
      return addQuestion(entries, data as Question);
    case 'result':
      return applyResult(entries, data as ResultEvent);
    case 'done': {
      const { error } = data as { error: { message: string } | null };
      return error ? [...entries, { kind: 'error', text: error.message }] : entries;
    }
    default:
      return entries;
  }
}

function appendText(entries: Entry[], text: string): Entry[] {
  const last = entries.at(-1);
  if (last?.kind !== 'assistant') return [...entries, { kind: 'assistant', text }];
  return [...entries.slice(0, -1), { kind: 'assistant', text: last.text + text }];
}

function applyResult(entries: Entry[], { id, ok, data, error, content, meta }: ResultEvent): Entry[] {
  return updateCall(entries, (call) => call.id === id, {
    state: ok ? 'done' : 'failed',
    result: ok ? data : error?.message,
    media: content,
    ms: meta?.durationMs,
    approval: undefined,
  });
}

/** Add a question. An approval belongs to the call that waits for it; a call made by code has no entry yet. */
function addQuestion(entries: Entry[], question: Question): Entry[] {
  if (!question.approval) return [...entries, { kind: 'question', question }];
  const { tool, arguments: shown } = question.approval;
  // Calls that need approval run one after the other, so the name is enough.
  const isWaiting = (call: ToolCallView) =>
    (call.name === tool || call.name === tool.split('@')[0]) && call.state === 'running' && !call.approval;
  if (entries.some((entry) => entry.kind === 'call' && isWaiting(entry.call))) {
    return updateCall(entries, isWaiting, { approval: question });
  }
  const args = Object.fromEntries(shown.map(({ name, value }) => [parseJsonOrText(name), parseJsonOrText(value)]));
  return [
    ...entries,
    { kind: 'call', call: { id: question.id, name: tool, args, state: 'running', approval: question } },
  ];
}

/** Apply the user's answer. A call made by code gets its final state here, because it has no result event. */
export function resolveQuestion(entries: Entry[], { id }: Question, answer: Answer): Entry[] {
  const isApproved = answer.action === 'accept' && answer.content?.allow === true;
  const nestedState = isApproved ? 'approved' : 'discarded';
  const isNested = (call: ToolCallView) => call.approval?.id === id && call.id === id;
  const resolved = updateCall(entries, isNested, { approval: undefined, state: nestedState });
  const changes: Partial<ToolCallView> = isApproved
    ? { approval: undefined }
    : { approval: undefined, state: 'discarded' };
  return updateCall(resolved, (call) => call.approval?.id === id, changes).map((entry) =>
    entry.kind === 'question' && entry.question.id === id ? { ...entry, answer: answer.action } : entry,
  );
}

/** Discard the calls and questions that are still open when the stream ends. */
export function closePendingCalls(entries: Entry[]): Entry[] {
  return entries.map((entry) => {
    if (entry.kind === 'question') return { ...entry, answer: entry.answer ?? 'cancel' };
    return entry.kind === 'call' && entry.call.state === 'running'
      ? withChanges(entry, { state: 'discarded', approval: undefined })
      : entry;
  });
}

/** Update the last matching call. Models reuse call ids in later responses. */
function updateCall(
  entries: Entry[],
  matches: (call: ToolCallView) => boolean,
  changes: Partial<ToolCallView>,
): Entry[] {
  const last = entries.findLastIndex((entry) => entry.kind === 'call' && matches(entry.call));
  return entries.map((entry, index) => (index === last && entry.kind === 'call' ? withChanges(entry, changes) : entry));
}

function withChanges(entry: CallEntry, changes: Partial<ToolCallView>): CallEntry {
  return { kind: 'call', call: { ...entry.call, ...changes } };
}
