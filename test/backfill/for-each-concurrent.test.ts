import { expect, onTestFinished, test } from 'vitest';
import { forEachConcurrent } from '../../src/backfill/for-each-concurrent.ts';
import { NEVER } from '../sample-blobs.ts';

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function unheardFailures(): unknown[] {
  const unheard: unknown[] = [];
  const hear = (error: unknown) => unheard.push(error);
  process.on('unhandledRejection', hear);
  onTestFinished(() => {
    process.off('unhandledRejection', hear);
  });
  return unheard;
}

/** Comes after what was left alone until then would have been told of. */
const aTurnLater = () => new Promise<void>((resolve) => setImmediate(resolve));

test('all of it is done, never more at a time than asked for', async () => {
  let underWay = 0;
  const most: number[] = [];
  const done: number[] = [];
  const work = async (item: number) => {
    underWay += 1;
    most.push(underWay);
    await aTurnLater();
    underWay -= 1;
    done.push(item);
  };
  await forEachConcurrent([1, 2, 3, 4, 5, 6, 7], 3, work, NEVER);
  expect(done.toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(Math.max(...most)).toBe(3);
});

test('a failure while the next item is waited for is heard, ends the others, and is thrown', async () => {
  const unheard = unheardFailures();
  const next = Promise.withResolvers<void>();
  const begun: number[] = [];
  const items = async function* () {
    yield 1;
    yield 2;
    await next.promise;
    yield 3;
  };
  const work = async (item: number, signal: AbortSignal) => {
    begun.push(item);
    if (item === 2) throw new Error('the catalog fails');
    await untilAborted(signal);
  };
  const running = forEachConcurrent(items(), 10, work, NEVER);
  await aTurnLater();
  next.resolve();
  await expect(running).rejects.toThrow('the catalog fails');
  expect(begun).toEqual([1, 2]);
  await aTurnLater();
  expect(unheard).toEqual([]);
});

test('items that break off end what is under way, before it is thrown', async () => {
  const unheard = unheardFailures();
  let ended = 0;
  const items = async function* () {
    yield 1;
    yield 2;
    throw new Error('there is no more');
  };
  const work = (_: number, signal: AbortSignal) =>
    untilAborted(signal).finally(() => {
      ended += 1;
    });
  await expect(forEachConcurrent(items(), 10, work, NEVER)).rejects.toThrow('there is no more');
  expect(ended).toBe(2);
  await aTurnLater();
  expect(unheard).toEqual([]);
});

test('a stop ends what is under way, and is what is thrown', async () => {
  const unheard = unheardFailures();
  const stopping = new AbortController();
  const running = forEachConcurrent([1, 2], 10, (_, signal) => untilAborted(signal), stopping.signal);
  await aTurnLater();
  stopping.abort(new Error('it is stopped'));
  await expect(running).rejects.toThrow('it is stopped');
  await aTurnLater();
  expect(unheard).toEqual([]);
});

test('a limit of bytes holds back what is small in number and large in memory, and a single large item still runs', async () => {
  let underWay = 0;
  const most: number[] = [];
  const work = async (bytes: number) => {
    underWay += bytes;
    most.push(underWay);
    await aTurnLater();
    underWay -= bytes;
  };
  const items = [4, 4, 4, 4, 30, 4, 4];
  await forEachConcurrent(items, 100, work, NEVER, { limitBytes: 10, bytesOf: (bytes) => bytes });
  // An item begins where those under way are below the limit, and may itself go beyond it.
  expect(most.map((bytes, index) => bytes - (items[index] ?? 0) < 10)).toEqual(items.map(() => true));
});
