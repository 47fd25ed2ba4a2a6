import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { bar, Rate, remaining, stepProgress } from '../../src/cli/progress.ts';

/** Standard output and error as text, the former a terminal or not. */
function surroundings(isTTY: boolean) {
  const stdout = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY, columns: 200, rows: 40 });
  const stderr = new PassThrough({ encoding: 'utf8' });
  const context = { stdout, stderr, env: {}, cwd: '/', signal: new AbortController().signal };
  return { context, shown: () => String(stdout.read() ?? ''), logged: () => String(stderr.read() ?? '') };
}

test('a bar tells the share that is done', () => {
  expect(bar(0, 10)).toBe('[------------------------] 0 %');
  expect(bar(5, 10)).toBe('[############------------] 50 %');
  expect(bar(0, 0)).toBe('[########################] 100 %');
});

test('a rate is that of the last ten seconds, and none before time has passed', () => {
  let ms = 0;
  const rate = new Rate(() => ms);
  expect(rate.at(0)).toBe(0);
  ms = 5_000;
  expect(rate.at(500)).toBe(100);
  // From then on it is ten a second.
  for (let second = 1; second <= 25; second += 1) {
    ms = 5_000 + second * 1_000;
    const perSecond = rate.at(500 + second * 10);
    if (second > 15) expect(perSecond).toBeCloseTo(10, 5);
  }
  expect(remaining(100, 10)).toBe(' · 10 s left');
  expect(remaining(100, 0)).toBe('');
  expect(remaining(-5, 1)).toBe(remaining(0, 1));
});

test('shows bar, pace and remaining time of a step on a terminal, and restarts the pace with the next step', () => {
  let ms = 0;
  const { context, shown, logged } = surroundings(true);
  const progress = stepProgress(context, () => ms);
  const reading = (done: number) =>
    progress.tell({ label: 's3: reading', done, total: 4_000, line: `s3: reading ${done} of 4000` });
  reading(0);
  ms = 2_000;
  reading(1_000);
  expect(shown()).toContain('s3: reading [######------------------] 25 % 1,000 of 4,000 · 500/s · 6 s left');
  progress.tell({ label: 'local: listing', done: 7, total: null, line: 'local: listing 7' });
  expect(shown()).toMatch(/local: listing 7$/m);
  progress.stop();
  expect(logged()).toBe('');
});

test('tells a line for each step on standard error where standard output is no terminal', () => {
  const { context, shown, logged } = surroundings(false);
  const progress = stepProgress(context);
  progress.tell({ label: 's3: reading', done: 3, total: 4, line: 's3: reading 3 of 4' });
  progress.stop();
  expect([shown(), logged()]).toEqual(['', 's3: reading 3 of 4\n']);
});
