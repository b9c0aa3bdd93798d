import { expect, test } from 'vitest';
import type { Question } from '~/api/jobs';
import {
  applyEvent,
  closePendingCalls,
  type Entry,
  entriesFromMessages,
  resolveQuestion,
} from '~/screens/chat/entries';

type Event = [event: string, data: unknown];

const FORM: Question = {
  job: 'j',
  id: 'q',
  kind: 'form',
  server: 'people',
  message: 'Name?',
  schema: {},
  url: '',
  approval: null,
};
const approvalOf = (tool: string): Question => ({
  ...FORM,
  kind: 'approval',
  server: '',
  approval: { tool, digest: '0a', arguments: [{ name: '"path"', value: '"a"', hidden: 0 }] },
});

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
  const texts = entries.map((entry) => (entry.kind === 'call' ? entry.call.name : 'text' in entry && entry.text));
  expect(texts).toEqual(['It rains.', 'a.b', 'So.']);
});

test('an approval belongs to the call that waits for it', () => {
  const entries = applyEvents(
    ['call', { id: '1', name: 'fs.write', args: { path: 'a' } }],
    ['question', approvalOf('fs.write')],
  );
  expect(entries).toHaveLength(1);
  expect(entries[0]).toMatchObject({ call: { approval: approvalOf('fs.write'), state: 'running' } });
});

test('an approval for a call made by code has its own entry', () => {
  const entries = applyEvents(['call', { id: '1', name: 'run', args: {} }], ['question', approvalOf('fs.write')]);
  expect(entries[1]).toMatchObject({ call: { name: 'fs.write', args: { path: 'a' } } });
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
  const defaults = { calls: [], callId: '', name: '', failed: false, content: [], at: null };
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

test('media of a result are the same in the stream and in a stored session', () => {
  const content = [{ type: 'image', mimeType: 'image/png', size: 3, handle: 'h' }];
  const defaults = { calls: [], callId: '', name: '', failed: false, content: [], at: null };
  const streamed = applyEvents(
    ['call', { id: '1', name: 'a.b', args: {} }],
    ['result', { id: '1', ok: false, error: { message: 'No.' }, content }],
  );
  const stored = entriesFromMessages([
    { ...defaults, role: 'assistant', text: '', calls: [{ id: '1', name: 'a.b', args: {} }] },
    { ...defaults, role: 'tool', text: 'No.', callId: '1', failed: true, content },
  ]);
  for (const entries of [streamed, stored]) {
    expect(entries).toMatchObject([{ call: { state: 'failed', result: 'No.', media: content } }]);
  }
});

test('a reused call id refers to the last call', () => {
  const call: Event = ['call', { id: '1', name: 'a.b', args: {} }];
  const result: Event = ['result', { id: '1', ok: true, data: 5 }];
  expect(callStates(applyEvents(call, result, call, result))).toEqual(['done', 'done']);
});

test('pending calls and approvals are discarded at the end of the stream', () => {
  const entries = applyEvents(['question', approvalOf('a.b')]);
  expect(closePendingCalls(entries)).toMatchObject([{ call: { state: 'discarded', approval: undefined } }]);
});

test('an approved call made by code is not discarded at the end of the stream', () => {
  const entries = applyEvents(['question', approvalOf('a.b')]);
  const finalStates = (allow: boolean) =>
    callStates(closePendingCalls(resolveQuestion(entries, FORM, { action: 'accept', content: { allow } })));
  expect([finalStates(true), finalStates(false)]).toEqual([['approved'], ['discarded']]);
});

test('a question of a server has its own entry, with the answer once there is one', () => {
  const entries = applyEvents(['call', { id: '1', name: 'people.ask', args: {} }], ['question', FORM]);
  expect(entries[1]).toEqual({ kind: 'question', question: FORM });
  expect(resolveQuestion(entries, FORM, { action: 'decline' })[1]).toMatchObject({ answer: 'decline' });
  expect(resolveQuestion(entries, FORM, { action: 'decline' })[0]).toMatchObject({ call: { state: 'running' } });
  expect(closePendingCalls(entries)[1]).toMatchObject({ answer: 'cancel' });
});
