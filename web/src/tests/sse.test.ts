import { expect, test } from 'vitest';
import { parseEvents } from '~/api/sse';

const encode = (text: string) => new TextEncoder().encode(text);

async function parseChunks(...chunks: Uint8Array[]) {
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const events = [];
  for await (const event of parseEvents(stream)) events.push(event);
  return events;
}

test('events are assembled from arbitrary chunks', async () => {
  const chunks = ['event: te', 'xt\ndata: {"text"', ':"a\\nb"}\n', '\nevent: done\ndata: {}\n\n'];
  expect(await parseChunks(...chunks.map(encode))).toEqual([
    { event: 'text', data: { text: 'a\nb' } },
    { event: 'done', data: {} },
  ]);
});

test('heartbeats are skipped and data lines are joined', async () => {
  const events = await parseChunks(encode(': heartbeat\n\n'), encode('data: [1,\ndata: 2]\n\n'));
  expect(events).toEqual([{ event: 'message', data: [1, 2] }]);
});

test('a character may be split across chunks', async () => {
  const bytes = encode('data: "雨"\n\n');
  const events = await parseChunks(bytes.slice(0, 8), bytes.slice(8));
  expect(events.map(({ data }) => data)).toEqual(['雨']);
});
