import { expect, test } from 'vitest';
import { collectorOfAll, IdleCollector } from '../../src/cli/idle-memory.ts';

test('collects once after each busy time, and never in one or without one', () => {
  const shares = [0.1, 0.3, 0.1, 0.9, 0.6, 0.3, 0.1, 0.1, 0.4, 0.1, 0.5, 0.2];
  const collected: number[] = [];
  let at = -1;
  const collector = new IdleCollector(
    () => collected.push(at),
    () => shares[at] ?? 0,
  );
  for (at = 0; at < shares.length; at += 1) collector.look();
  expect(collected).toEqual([6, 11]);
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
