import { expect, test } from 'vitest';
import { collectorOfAll, IdleCollector } from '../../src/cli/idle-memory.ts';

test('collects once after the start and after each busy time, and never in one or without one', () => {
  const shares = [0.4, 0.1, 0.1, 0.9, 0.6, 0.3, 0.1, 0.1, 0.4, 0.1, 0.5, 0.2];
  const collected: [string, number][] = [];
  let at = -1;
  const collector = new IdleCollector(
    (after) => collected.push([after, at]),
    () => shares[at] ?? 0,
  );
  for (at = 0; at < shares.length; at += 1) collector.look();
  expect(collected).toEqual([
    ['start', 1],
    ['work', 6],
    ['work', 11],
  ]);
});

test('a process that is busy for long from its start on is not collected as one that just began', () => {
  const shares = [...Array.from({ length: 6 }, () => 0.9), 0.1, 0.1];
  const collected: string[] = [];
  const collector = new IdleCollector(
    (after) => collected.push(after),
    () => shares.shift() ?? 0,
  );
  while (shares.length > 0) collector.look();
  expect(collected).toEqual(['work']);
});

/** Allocates buffers that are unreachable when the function returns. */
function forgotten(): WeakRef<Uint8Array>[] {
  return Array.from({ length: 32 }, () => new WeakRef(new Uint8Array(1_048_576)));
}

test('unreachable memory is freed, outside the heap too', async () => {
  const collect = collectorOfAll();
  const outside = () => process.memoryUsage().arrayBuffers;
  const garbage = forgotten();
  const full = outside();
  expect(garbage.filter((one) => one.deref() !== undefined)).toHaveLength(32);
  await expect
    .poll(() => {
      collect();
      return garbage.filter((one) => one.deref() !== undefined).length;
    })
    .toBe(0);
  // Garbage of other code in this process is freed with the buffers: the amount has a lower bound only.
  await expect.poll(() => full - outside()).toBeGreaterThan(24 * 1_048_576);
});
