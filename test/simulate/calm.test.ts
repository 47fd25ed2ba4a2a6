import { expect, test } from 'vitest';
import { Calm } from './calm.ts';
import { DAY_MS, HOUR_MS } from './plan.ts';

const BEGAN_MS = 1_000_000;
const EVENT = { number: 1, kind: 'crash', atMs: DAY_MS, forMs: HOUR_MS } as const;

/** Hours in which nothing happens, that many hours after the begin. */
const hoursLeft = (calm: Calm, hours: number) => calm.leftMs(BEGAN_MS + hours * HOUR_MS) / HOUR_MS;

test('nothing goes on between what an event has led to and the next one, or the end', () => {
  const calm = new Calm({ days: 3, events: [EVENT] }, BEGAN_MS);
  expect([0, 3, 24, 28, 72, 80].map((hours) => hoursLeft(calm, hours))).toEqual([0, 0, 0, 0, 0, 0]);
  expect([4, 19, 29, 70].map((hours) => hoursLeft(calm, hours))).toEqual([6, 5, 6, 2]);
});

test('nothing sleeps past a block, and blobs keep the archiver busy', () => {
  const calm = new Calm({ days: 3, events: [] }, BEGAN_MS);
  calm.expectBlock(BEGAN_MS, BEGAN_MS + 10 * HOUR_MS, true);
  calm.expectBlock(BEGAN_MS + 10 * HOUR_MS, BEGAN_MS + 14 * HOUR_MS, false);
  expect([9, 10, 11, 12, 14].map((hours) => hoursLeft(calm, hours))).toEqual([1, 0, 3, 2, 6]);
  expect(calm.isWithoutEvents(BEGAN_MS + 11 * HOUR_MS)).toBe(true);
});
