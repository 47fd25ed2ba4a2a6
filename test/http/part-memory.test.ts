import { expect, test } from 'vitest';
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

test('small parts have memory of their own', () => {
  const memory = new PartMemory();
  const part = memory.take(65_536);
  memory.giveBack(part);
  expect([part.buffer.byteLength, memory.take(65_536).buffer === part.buffer]).toEqual([65_536, false]);
});
