import { execFile } from 'node:child_process';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { MetricsRegistry } from '../../../src/core/observability/metrics.ts';

const METRICS = fileURLToPath(new URL('../../../src/core/observability/metrics.ts', import.meta.url));

function valueIn(scrape: string, family: string): number {
  return Number(new RegExp(`^${family} (\\S+)$`, 'm').exec(scrape)?.[1] ?? Number.NaN);
}

test('metrics wake no idle process: half a second passes in a few iterations of the event loop', async () => {
  const program = `
    const { MetricsRegistry } = await import(${JSON.stringify(METRICS)});
    const metrics = new MetricsRegistry();
    const iterations = () => performance.nodeTiming.uvMetricsInfo.loopCount;
    const before = iterations();
    setTimeout(() => console.log(iterations() - before, typeof metrics), 500);
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  expect(Number(stdout.split(' ')[0])).toBeGreaterThan(0);
  // A timer of 10 ms made fifty of them.
  expect(Number(stdout.split(' ')[0])).toBeLessThanOrEqual(10);
});

test('an iteration that keeps others waiting is seen at the next scrape, and not at the one after it', async () => {
  const metrics = new MetricsRegistry();
  await nextIteration();
  await metrics.scrape();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  await nextIteration();
  await nextIteration();
  const first = await metrics.scrape();
  await nextIteration();
  await nextIteration();
  const second = await metrics.scrape();

  const [longest, then] = [first, second].map((scrape) => valueIn(scrape, 'nodejs_eventloop_lag_max_seconds'));
  expect(longest).toBeGreaterThanOrEqual(0.199);
  expect(then).not.toBe(longest);
  for (const name of ['min', 'mean', 'stddev', 'p50', 'p90', 'p99']) {
    expect(valueIn(first, `nodejs_eventloop_lag_${name}_seconds`)).toBeLessThanOrEqual(longest ?? 0);
  }
});
