import { expect, test } from 'vitest';
import {
  applyEvent,
  closePendingCalls,
  type Entry,
  entriesFromMessages,
  resolveApproval,
} from '~/screens/chat/entries';

type Event = [event: string, data: unknown];

const QUESTION = { id: 'q', arguments: [{ name: '"path"', value: '"a"', hidden: 0 }], digest: '0a' };

const applyEvents = (...events: Event[]) =>
  events.reduce<Entry[]>((entries, [event, data]) => applyEvent(entries, { event, data }), []);
const callStates = (entries: Entry[]) => entries.map((entry) => entry.kind === 'call' && entry.call.state);

test('text is joined until a call separates it', () => {
  const entries = applyEvents(
    ['text', { text: 'It ' }],
    ['text', { text: 'rains.' }],
    ['call', { id: '1', name: 'a.b', args: {} }],
    ['text', { text: 'So.' }],
  );
  const texts = entries.map((entry) => (entry.kind === 'call' ? entry.call.name : entry.text));
  expect(texts).toEqual(['It rains.', 'a.b', 'So.']);
});

test('an approval belongs to the call that waits for it', () => {
  const entries = applyEvents(
    ['call', { id: '1', name: 'fs.write', args: { path: 'a' } }],
    ['approval', { ...QUESTION, tool: 'fs.write', args: { path: 'a' } }],
  );
  expect(entries).toHaveLength(1);
  expect(entries[0]).toMatchObject({ call: { approval: QUESTION, state: 'running' } });
});

test('an approval for a call made by code has its own entry', () => {
  const entries = applyEvents(
    ['call', { id: '1', name: 'run', args: {} }],
    ['approval', { ...QUESTION, tool: 'fs.write', args: {} }],
  );
  expect(entries).toHaveLength(2);
});

test('a result completes its call, and a model error is an entry', () => {
  const entries = applyEvents(
    ['call', { id: '1', name: 'a.b', args: {} }],
    ['result', { id: '1', ok: true, data: 7, meta: { durationMs: 3 } }],
    ['done', { error: { message: 'No key.' } }],
  );
  expect(entries).toMatchObject([{ call: { state: 'done', result: 7, ms: 3 } }, { kind: 'error', text: 'No key.' }]);
});

test('a stored session has the same entries as the stream', () => {
  const defaults = { calls: [], callId: '', name: '', failed: false, at: null };
  const entries = entriesFromMessages([
    { ...defaults, role: 'user', text: 'Rain?' },
    { ...defaults, role: 'assistant', text: '', calls: [{ id: '1', name: 'a.b', args: { n: 1 } }] },
    { ...defaults, role: 'tool', text: '{"mm": 3}', callId: '1', name: 'a.b' },
    { ...defaults, role: 'assistant', text: 'A little.' },
  ]);
  expect(entries).toMatchObject([
    { text: 'Rain?' },
    { call: { state: 'done', result: { mm: 3 } } },
    { text: 'A little.' },
  ]);
});

test('a reused call id refers to the last call', () => {
  const call: Event = ['call', { id: '1', name: 'a.b', args: {} }];
  const result: Event = ['result', { id: '1', ok: true, data: 5 }];
  expect(callStates(applyEvents(call, result, call, result))).toEqual(['done', 'done']);
});

test('pending calls and approvals are discarded at the end of the stream', () => {
  const entries = applyEvents(['approval', { ...QUESTION, tool: 'a.b', args: {} }]);
  expect(closePendingCalls(entries)).toMatchObject([{ call: { state: 'discarded', approval: undefined } }]);
});

test('an approved call made by code is not discarded at the end of the stream', () => {
  const entries = applyEvents(['approval', { ...QUESTION, tool: 'a.b', args: {} }]);
  const finalStates = (isApproved: boolean) => callStates(closePendingCalls(resolveApproval(entries, 'q', isApproved)));
  expect([finalStates(true), finalStates(false)]).toEqual([['approved'], ['discarded']]);
});
