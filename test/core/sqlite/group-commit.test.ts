import { expect, onTestFinished, test, vi } from 'vitest';
import { GroupCommit } from '../../../src/core/sqlite/group-commit.ts';
import { SYSTEM_CLOCK } from '../../../src/core/time/clock.ts';

test('items that arrive together share a commit in the order of arrival', async () => {
  const commits: (readonly number[])[] = [];
  const group = new GroupCommit<number>((items) => commits.push(items), 100, SYSTEM_CLOCK);
  await Promise.all([1, 2, 3].map((item) => group.add(item)));
  expect(commits).toEqual([[1, 2, 3]]);
});

test('no commit exceeds the limit', async () => {
  const commits: number[] = [];
  const group = new GroupCommit<number>((items) => commits.push(items.length), 4, SYSTEM_CLOCK);
  await Promise.all(Array.from({ length: 10 }, (_, item) => group.add(item)));
  expect(commits).toEqual([4, 4, 2]);
});

test('no item is acknowledged before its commit, and every item of a failed commit is refused', async () => {
  const refusal = new Error('the disk is full');
  let isFull = true;
  const group = new GroupCommit<number>(
    () => {
      if (isFull) throw refusal;
    },
    100,
    SYSTEM_CLOCK,
  );
  const outcomes = await Promise.allSettled([group.add(1), group.add(2)]);
  expect(outcomes).toEqual([
    { status: 'rejected', reason: refusal },
    { status: 'rejected', reason: refusal },
  ]);
  isFull = false;
  await expect(group.add(3)).resolves.toBeUndefined();
});

test('a flush commits the waiting items at once', async () => {
  const commits: (readonly number[])[] = [];
  const group = new GroupCommit<number>((items) => commits.push(items), 100, SYSTEM_CLOCK);
  const added = group.add(1);
  group.flush();
  expect(commits).toEqual([[1]]);
  await added;
  group.flush();
  expect(commits).toHaveLength(1);
});

test('the group waits longer during a flood, up to a limit', () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const commits: number[] = [];
  const group = new GroupCommit<number>((items) => commits.push(items.length), 1_000, SYSTEM_CLOCK);
  const add = (many: number) => {
    for (let item = 0; item < many; item++) group.add(item);
  };
  add(32);
  vi.advanceTimersByTime(5);
  expect(commits).toEqual([32]);
  add(1);
  vi.advanceTimersByTime(4);
  add(50);
  vi.advanceTimersByTime(4);
  expect(commits).toEqual([32]);
  vi.advanceTimersByTime(2);
  expect(commits).toEqual([32, 51]);
  for (let ms = 0; ms < 25; ms++) {
    add(20);
    vi.advanceTimersByTime(1);
  }
  expect(commits).toEqual([32, 51, 500]);
});
