import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readEvents, type ServerEvent } from '../../../src/page/model/event-reader.ts';

function streamOf(chunks: readonly Uint8Array[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  const left = chunks.map((chunk) => new Uint8Array(chunk));
  return new ReadableStream({
    pull(controller) {
      const next = left.shift();
      if (next === undefined) controller.close();
      else controller.enqueue(next);
    },
  });
}

async function eventsOf(text: string, cuts: readonly number[] = []): Promise<ServerEvent[]> {
  const bytes = new TextEncoder().encode(text);
  const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  const chunks = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
  return await Array.fromAsync(readEvents(streamOf(chunks), 1_000));
}

test('events are read as the standard has them', async () => {
  const text = ': hello\n\nevent: a\nid: 1\ndata: x\ndata: y\n\ndata:z\nretry: 5\n\nid: 9\n\ndata: cut off';
  expect(await eventsOf(text)).toEqual([
    { name: 'a', id: '1', data: 'x\ny' },
    { name: 'message', id: null, data: 'z' },
  ]);
});

test('events are the same for every cut of the stream and every kind of line end', async () => {
  const line = fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.replace(/[\r\n]/g, ' '));
  const event = fc.record({
    name: line.filter((name) => name.trim() === name && name !== ''),
    data: fc.array(line, { minLength: 1, maxLength: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { maxLength: 5 }),
      fc.array(fc.nat(), { maxLength: 12 }),
      fc.constantFrom('\n', '\r\n', '\r'),
      async (events, cuts, end) => {
        const text = events
          .map(({ name, data }) => [`event: ${name}`, ...data.map((one) => `data: ${one}`), '', ''].join(end))
          .join('');
        const expected = events.map(({ name, data }) => ({ name, id: null, data: data.join('\n') }));
        // A carriage return at the very end may be the first half of a line end.
        expect(await eventsOf(`${text}: the end${end}`, cuts)).toEqual(expected);
      },
    ),
    { numRuns: 300 },
  );
});
