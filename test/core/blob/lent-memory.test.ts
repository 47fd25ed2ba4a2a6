import { Worker } from 'node:worker_threads';
import { expect, test, vi } from 'vitest';

// A fresh pool, from which no other file of this worker has borrowed.
vi.resetModules();
const { giveBackMemory, lendMemory, noteHandedOver, ownsMemory } = await import(
  '../../../src/core/blob/lent-memory.ts'
);

const LARGE = 2_097_152;

function lent(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(lendMemory(length), 0, length);
}

function taken(length: number): Uint8Array<ArrayBuffer> {
  const bytes = lent(length);
  bytes.fill(7);
  return bytes;
}

test('memory that is given back is lent again, and its former holder sees none of the new bytes', () => {
  const before = taken(LARGE);
  giveBackMemory(before);
  expect(before).toHaveLength(0);
  const next = lent(LARGE);
  expect(next[LARGE - 1]).toBe(7);
  next.fill(9);
  expect(before).toHaveLength(0);
  giveBackMemory(next);
});

test('spare memory is lent for slightly shorter blobs only', () => {
  giveBackMemory(taken(LARGE));
  const less = lent(LARGE - 200_000);
  expect(less).toHaveLength(LARGE - 200_000);
  expect(less.buffer.byteLength).toBe(LARGE);
  expect(ownsMemory(less)).toBe(true);
  giveBackMemory(less);
  expect(less).toHaveLength(0);
  expect(lent(1_000_000).buffer.byteLength).toBe(1_000_000);
});

test('shared memory is never taken back, and giving back twice is harmless', () => {
  const shared = new Uint8Array(LARGE);
  const part = shared.subarray(0, 100_000);
  expect(ownsMemory(part)).toBe(false);
  giveBackMemory(part);
  expect(shared).toHaveLength(LARGE);
  const bytes = taken(LARGE);
  giveBackMemory(bytes);
  giveBackMemory(bytes);
  const [one, other] = [lent(LARGE), lent(LARGE)];
  expect(one.buffer).not.toBe(other.buffer);
});

test('at most 8 MiB of spare memory are kept', () => {
  const held = Array.from({ length: 12 }, () => taken(LARGE));
  for (const bytes of held) giveBackMemory(bytes);
  const again = Array.from({ length: 12 }, () => lent(LARGE));
  expect(again.filter((bytes) => bytes[0] === 7)).toHaveLength(4);
});

test('memory from another thread can be given back, even when it is longer', async () => {
  giveBackMemory(taken(LARGE));
  const less = lent(LARGE - 1_000);
  const worker = new Worker(
    "const { parentPort } = require('node:worker_threads'); parentPort.once('message', (bytes) => parentPort.postMessage(bytes, [bytes.buffer]));",
    { eval: true },
  );
  const back = await new Promise<Uint8Array<ArrayBuffer>>((resolve) => {
    worker.once('message', resolve);
    worker.postMessage(less, [less.buffer]);
  });
  await worker.terminate();
  expect(ownsMemory(back)).toBe(false);
  noteHandedOver(back);
  expect(back).toHaveLength(LARGE - 1_000);
  expect(ownsMemory(back)).toBe(true);
});
