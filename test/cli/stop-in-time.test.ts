import { expect, test } from 'vitest';
import { stopInTime } from '../../src/cli/stop-in-time.ts';

test('a stop that ends is one', async () => {
  expect(await stopInTime(Promise.resolve(), 10_000)).toBe('stopped');
});

test('one that hangs is left behind when the time is over', async () => {
  expect(await stopInTime(new Promise(() => {}), 10)).toBe('late');
});

test('one that fails says so', async () => {
  await expect(stopInTime(Promise.reject(new Error('the disk is away')), 10_000)).rejects.toThrow('the disk is away');
});
