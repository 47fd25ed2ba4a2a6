import { expect, test } from 'vitest';
import { parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { RETENTION_SECONDS } from '../../src/core/blob/limits.ts';
import { openCatalog, sighting } from './catalog-in-folder.ts';

/** Blocks of heights 1 to 3, with a blob each. `isPast`: what is on them rests in the queue. */
function catalogOfThree(medianTimeOf: (height: number) => number, isPast: (height: number) => boolean) {
  const catalog = openCatalog();
  const txid = parseTxId('ab'.repeat(32));
  const hash = (height: number) => parseBlockHash(height.toString(16).padStart(64, '0'));
  catalog.chain.recordStart(1);
  for (const height of [1, 2, 3]) {
    const { versionHash } = sighting(`mined ${height}`);
    const occurrence = { versionHash, hashType: 'keccak256' as const, txid, vout: 0, transactionIndex: 1 };
    const times = { timeSeconds: height * 100, medianTimeSeconds: medianTimeOf(height) };
    const hashes = { height, hash: hash(height), previousHash: hash(height - 1) };
    const occurrences = [{ ...occurrence, makeRecord: () => '{}' }];
    catalog.chain.recordBlocks([{ ...hashes, ...times, occurrences, unclear: [] }], () => isPast(height));
  }
  return catalog;
}

test('content on chain that is absent is counted by its time, and merely listed content is not', () => {
  const catalog = catalogOfThree(
    (height) => height * 100,
    () => true,
  );
  catalog.noteListed([sighting('listed', { medianTimeSeconds: 150 }), sighting('later', { medianTimeSeconds: 250 })]);
  const overdue = [100, 101, 201, 301].map((until) => catalog.figures.overdue(until + RETENTION_SECONDS));
  expect(overdue).toEqual([0, 1, 2, 3]);
  expect(catalog.losses.unsaved.between(100, 300)).toEqual({ blobs: 2, from: 1, to: 2 });
  expect(catalog.losses.unsaved.between(201, 300)).toBeNull();
});

test('overdue blobs are given one after the other, also those of one time and those that rest', () => {
  for (const isPast of [() => true, () => false, (height: number) => height === 2]) {
    const { losses } = catalogOfThree((height) => (height === 1 ? 300 : 200), isPast);
    const all = losses.overdue(Number.MAX_SAFE_INTEGER, 9);
    const after = [null, ...all].map((one) => losses.overdue(Number.MAX_SAFE_INTEGER, 1, one));
    expect(after).toEqual([...all.map((one) => [one]), []]);
    expect(all.map(({ medianTimeSeconds }) => medianTimeSeconds)).toEqual([200, 200, 300]);
  }
});
