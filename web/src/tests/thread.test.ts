import { expect, test } from 'vitest';
import { add, decided, entriesOf, type Entry, settle } from '~/screens/chat/thread';

const play = (...events: [string, unknown][]) => events.reduce<Entry[]>((entries, [event, data]) => add(entries, { event, data }), []);

test('pieces of text become one answer, calls stand between', () => {
  const entries = play(['text', { text: 'It ' }], ['text', { text: 'rains.' }], ['call', { id: '1', name: 'a.b', args: {} }], ['text', { text: 'So.' }]);
  expect(entries.map((entry) => (entry.kind === 'call' ? entry.call.name : entry.text))).toEqual(['It rains.', 'a.b', 'So.']);
});

test('a question belongs to the call that waits for it', () => {
  const entries = play(['call', { id: '1', name: 'fs.write', args: { path: 'a' } }], ['approval', { id: 'q', tool: 'fs.write', args: { path: 'a' } }]);
  expect(entries).toHaveLength(1);
  expect(entries[0]).toMatchObject({ call: { approval: 'q', state: 'running' } });
});

test('a question of code stands by itself', () => {
  const entries = play(['call', { id: '1', name: 'run', args: {} }], ['approval', { id: 'q', tool: 'fs.write', args: {} }]);
  expect(entries).toHaveLength(2);
});

test('a result closes its call, a failure of the model is told', () => {
  const entries = play(['call', { id: '1', name: 'a.b', args: {} }], ['result', { id: '1', ok: true, data: 7, meta: { durationMs: 3 } }], ['done', { error: { message: 'No key.' } }]);
  expect(entries).toMatchObject([{ call: { state: 'done', result: 7, ms: 3 } }, { kind: 'failed', text: 'No key.' }]);
});

test('what was kept looks like what was seen', () => {
  const blank = { calls: [], callId: '', name: '', failed: false, at: null };
  const entries = entriesOf([
    { ...blank, role: 'user', text: 'Rain?' },
    { ...blank, role: 'assistant', text: '', calls: [{ id: '1', name: 'a.b', args: { n: 1 } }] },
    { ...blank, role: 'tool', text: '{"mm": 3}', callId: '1', name: 'a.b' },
    { ...blank, role: 'assistant', text: 'A little.' },
  ]);
  expect(entries).toMatchObject([{ text: 'Rain?' }, { call: { state: 'done', result: { mm: 3 } } }, { text: 'A little.' }]);
});

test('the same id in a later answer means the later call', () => {
  const called = (entries: Entry[]) => add(entries, { event: 'call', data: { id: '1', name: 'a.b', args: {} } });
  const done = (entries: Entry[]) => add(entries, { event: 'result', data: { id: '1', ok: true, data: 5 } });
  const states = done(called(done(called([])))).map((entry) => entry.kind === 'call' && entry.call.state);
  expect(states).toEqual(['done', 'done']);
});

test('nothing runs on, and nothing is asked any more, when nothing more comes', () => {
  const asked = add([], { event: 'approval', data: { id: 'q', tool: 'a.b', args: {} } });
  expect(settle(asked)).toMatchObject([{ call: { state: 'discarded', approval: undefined } }]);
});

test('a call inside code that was allowed is not told as discarded', () => {
  const asked = add([], { event: 'approval', data: { id: 'q', tool: 'a.b', args: {} } });
  const state = (isAllowed: boolean) => settle(decided(asked, 'q', isAllowed)).map((entry) => entry.kind === 'call' && entry.call.state);
  expect([state(true), state(false)]).toEqual([['allowed'], ['discarded']]);
});
