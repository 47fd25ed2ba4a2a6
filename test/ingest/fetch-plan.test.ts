import { describe, expect, test } from 'vitest';
import type { QueuedBlob } from '../../src/catalog/seen-table.ts';
import { nextAttemptMs, takeBatch } from '../../src/ingest/fetch-plan.ts';
import { sighting } from '../catalog/catalog-in-folder.ts';

const LIMITS = { blobs: 3, bytes: 1_000 };

function wanted(sizeBytes: number, attempts = 0): QueuedBlob {
  return {
    ...sighting(`${sizeBytes} ${attempts}`, { sizeBytes }),
    firstSeenMs: 0,
    attempts,
    hashType: null,
    sizeIsBound: false,
    lastErrorCode: null,
    lastError: null,
  };
}

function batches(queue: QueuedBlob[]): number[][] {
  const all: number[][] = [];
  for (let batch = takeBatch(queue, LIMITS); batch.length > 0; batch = takeBatch(queue, LIMITS)) {
    all.push(batch.map(({ sizeBytes }) => sizeBytes));
  }
  return all;
}

describe('a batch', () => {
  test('takes small neighbours together, in the order of the queue, within both limits', () => {
    expect(batches([1, 2, 3, 4, 5].map((size) => wanted(size)))).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
    expect(batches([600, 300, 200, 900].map((size) => wanted(size)))).toEqual([[600, 300], [200], [900]]);
  });

  test('asks for a large blob alone, also between small ones', () => {
    expect(batches([1, 5_000, 2].map((size) => wanted(size)))).toEqual([[1], [5_000], [2]]);
  });

  test('asks alone for what failed before', () => {
    expect(batches([wanted(1), wanted(2, 1), wanted(3), wanted(4)])).toEqual([[1], [2], [3, 4]]);
    expect(batches([wanted(2, 1), wanted(3, 1)])).toEqual([[2], [3]]);
  });

  test('asks alone for what is listed with a size that no blob has', () => {
    expect(batches([wanted(1), wanted(0), wanted(3), wanted(4)])).toEqual([[1], [0], [3, 4]]);
    expect(batches([wanted(1), wanted(2_097_153), wanted(3)])).toEqual([[1], [2_097_153], [3]]);
  });

  test('a batch of an empty queue is empty', () => {
    expect(batches([])).toEqual([]);
  });
});

describe('the pause after a failure', () => {
  const middle = (attempts: number) => nextAttemptMs(attempts, 0, 0, () => 0.5);

  test('doubles from two seconds to ten minutes, and stays there', () => {
    expect([0, 1, 2, 8, 9, 1_000].map(middle)).toEqual([2_000, 4_000, 8_000, 512_000, 600_000, 600_000]);
  });

  test('is at most a tenth of the time that is left, while there is some', () => {
    const near = (leftMs: number) => nextAttemptMs(1_000, 0, leftMs, () => 0.5);
    expect([21_600_000, 1_000_000, 30_000, 1_000, -1].map(near)).toEqual([600_000, 100_000, 3_000, 2_000, 600_000]);
  });

  test('is spread by a quarter to both sides', () => {
    expect(nextAttemptMs(0, 10_000, 0, () => 0)).toBe(11_500);
    expect(nextAttemptMs(0, 10_000, 0, () => 1)).toBe(12_500);
  });
});
