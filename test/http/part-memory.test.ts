import { expect, onTestFinished, test, vi } from 'vitest';
import { LARGE_PART_BYTES, PartMemory } from '../../src/http/part-memory.ts';

test('the memory of a part that was given back is that of the next large one, whatever its size', () => {
  const memory = new PartMemory();
  const first = memory.take(LARGE_PART_BYTES);
  memory.giveBack(first);
  const next = memory.take(LARGE_PART_BYTES / 2);
  expect([next.buffer === first.buffer, next.length]).toEqual([true, LARGE_PART_BYTES / 2]);
});

test('no memory is lent twice at a time', () => {
  const memory = new PartMemory();
  const first = memory.take(LARGE_PART_BYTES);
  memory.giveBack(first);
  memory.giveBack(first);
  memory.giveBack(Buffer.allocUnsafeSlow(LARGE_PART_BYTES));
  const lent = Array.from({ length: 20 }, () => memory.take(LARGE_PART_BYTES).buffer);
  expect(new Set(lent).size).toBe(20);
});

test('a part that was given back is not given back again when its memory is lent to the next one', () => {
  const memory = new PartMemory();
  const first = memory.take(LARGE_PART_BYTES);
  memory.giveBack(first);
  const next = memory.take(LARGE_PART_BYTES);
  memory.giveBack(first);
  expect(memory.take(LARGE_PART_BYTES).buffer === next.buffer).toBe(false);
});

test('small parts have memory of their own', () => {
  const memory = new PartMemory();
  const part = memory.take(65_536);
  memory.giveBack(part);
  expect([part.buffer.byteLength, memory.take(65_536).buffer === part.buffer]).toEqual([65_536, false]);
});

test('memory that lies unused is given up, and what is in use again and again stays', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const memory = new PartMemory();
  const lent = Array.from({ length: 50 }, () => memory.take(LARGE_PART_BYTES));
  for (const part of lent) memory.giveBack(part);
  const last = lent.at(-1)?.buffer;
  for (let seconds = 0; seconds < 5; seconds += 1) {
    const part = memory.take(LARGE_PART_BYTES);
    expect(part.buffer === last).toBe(true);
    memory.giveBack(part);
    vi.advanceTimersByTime(1_000);
  }
  const first = lent.slice(0, -1).map(({ buffer }) => buffer);
  const taken = Array.from({ length: 2 }, () => memory.take(LARGE_PART_BYTES).buffer);
  expect(taken.map((buffer) => [buffer === last, first.includes(buffer)])).toEqual([
    [true, false],
    [false, false],
  ]);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(2_000);
  expect(vi.getTimerCount()).toBe(0);
});
