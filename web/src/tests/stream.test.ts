import { expect, test } from 'vitest';
import { parse } from '~/api/stream';

function streamOf(...chunks: string[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(encoder.encode(chunk));
      controller.close();
    },
  });
}

async function read(...chunks: string[]) {
  const events = [];
  for await (const event of parse(streamOf(...chunks))) events.push(event);
  return events;
}

test('events are put together however the network has cut them', async () => {
  const events = await read('event: te', 'xt\ndata: {"text"', ':"a\\nb"}\n', '\nevent: done\ndata: {}\n\n');
  expect(events).toEqual([
    { event: 'text', data: { text: 'a\nb' } },
    { event: 'done', data: {} },
  ]);
});

test('heartbeats are left out, and several lines of data are one', async () => {
  expect(await read(': still here\n\n', 'data: [1,\ndata: 2]\n\n')).toEqual([{ event: 'message', data: [1, 2] }]);
});

test('a character that was cut in two is whole again', async () => {
  const bytes = new TextEncoder().encode('data: "雨"\n\n');
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes.slice(0, 8));
      controller.enqueue(bytes.slice(8));
      controller.close();
    },
  });
  const events = [];
  for await (const event of parse(stream)) events.push(event.data);
  expect(events).toEqual(['雨']);
});
