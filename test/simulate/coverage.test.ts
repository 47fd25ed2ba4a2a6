import { expect, test } from 'vitest';
import { Coverage } from './coverage.ts';
import { FAULTS } from './plan.ts';

test('a run tells how many ordered pairs of events met, which did so seldom, and which never did', () => {
  const coverage = new Coverage();
  coverage.add([
    ['crash', 'store-gone'],
    ['crash', 'store-gone'],
    ['store-gone', 'crash'],
    ['planted-loss', 'crash'],
  ]);
  const [first, seldom, ...others] = coverage.lines;
  expect(first).toBe(`pairs of events: 2 of ${FAULTS.length ** 2} met, half of these 2 times or more`);
  expect(seldom).toBe('  seldom: store-gone > crash 1, crash > store-gone 2');
  expect(others).toEqual([]);
});

test('a run in which most pairs met names those that did not', () => {
  const coverage = new Coverage();
  coverage.add(FAULTS.flatMap((before) => FAULTS.map((then) => [before, then] as const)).slice(2));
  const [before, then] = FAULTS;
  expect(coverage.lines.at(-1)).toBe(`  never after ${before}: ${before}, ${then}`);
});

test('a run in which all pairs met says nothing of missing ones', () => {
  const coverage = new Coverage();
  coverage.add(FAULTS.flatMap((before) => FAULTS.map((then) => [before, then] as const)));
  expect(coverage.lines).toHaveLength(2);
});
