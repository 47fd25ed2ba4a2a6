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

test('what nobody holds any more is gone, outside of the heap too', async () => {
  const collect = collectorOfAll();
  const outside = () => process.memoryUsage().arrayBuffers;
  collect();
  const before = outside();
  let garbage: Uint8Array[] | null = Array.from({ length: 32 }, () => new Uint8Array(1_048_576));
  expect(outside() - before).toBeGreaterThan(30 * 1_048_576);
  expect(garbage).toHaveLength(32);
  garbage = null;
  await expect
    .poll(() => {
      collect();
      return outside() - before;
    })
    .toBeLessThan(8 * 1_048_576);
});
