import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type PlannedBundle,
  partsAgain,
  planBundle,
  refuseTakenDown,
  takeDowns,
} from '../../src/bundle/plan-bundle.ts';
import type { BundledOccurrence } from '../../src/catalog/audit-snapshot.ts';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { WalkedBlock } from '../../src/catalog/walked-block.ts';
import { ArchiveRule } from '../../src/core/blob/archive-rule.ts';
import { type HashType, parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { openCatalog, sighting, spooled } from '../catalog/catalog-in-folder.ts';
import { HASHER } from '../sample-blobs.ts';

const NEVER = new AbortController().signal;
const HEIGHTS = 8;
const CONTENTS = 6;
const hash = (branch: string, height: number) => parseBlockHash(`${branch}${height.toString(16)}`.padStart(64, '0'));
const txid = (height: number, index: number) => parseTxId(`${height}0${index}`.padStart(64, 'c'));
const typeOf = (content: number): HashType => (content % 2 === 0 ? 'keccak256' : 'blake2s256');

/** Contents that occur in the block, in the order of their transactions. */
type Block = readonly number[];

function blockAt(branch: string, height: number, contents: Block): WalkedBlock {
  const times = { timeSeconds: height * 100, medianTimeSeconds: height * 100 };
  const occurrences = contents.map((content, transactionIndex) => ({
    ...{ versionHash: sighting(`${content}`).versionHash, hashType: typeOf(content) },
    ...{ txid: txid(height, transactionIndex), vout: transactionIndex, transactionIndex, makeRecord: () => '{}' },
  }));
  return {
    height,
    hash: hash(branch, height),
    previousHash: hash(branch, height - 1),
    ...times,
    occurrences,
    unclear: [],
  };
}

function store(catalog: Catalog, contents: readonly number[]): void {
  for (const content of contents) {
    catalog.recordSpooled([spooled(`${content}`, typeOf(content))]);
    catalog.recordProven('local', catalog.find(sighting(`${content}`).versionHash));
  }
}

function plan(catalog: Catalog, from: number, to: number): Promise<PlannedBundle> {
  const range = { from, to, chain: hash('9', 0), blockHash: hash('a', to) };
  return planBundle(range, catalog, HASHER, recordText, () => {}, NEVER);
}

const recordText = async ({ txid: of, height, blockHash }: BundledOccurrence, sizeBytes: number) =>
  `the record of ${of} in block ${blockHash} at height ${height}, of ${sizeBytes} bytes`;

const block = fc.array(fc.nat(CONTENTS - 1), { maxLength: 4 });
const branch = fc.array(block, { minLength: HEIGHTS, maxLength: HEIGHTS });
const order = fc.shuffledSubarray([...Array(CONTENTS).keys()], { minLength: CONTENTS, maxLength: CONTENTS });

test('the same chain and the same blobs make the same bundle: in whatever order they came, however often, over whatever reorganisation', async () => {
  await fc.assert(
    fc.asyncProperty(
      ...[branch, branch, order, order, fc.array(fc.nat(CONTENTS - 1)), fc.integer({ min: 1, max: HEIGHTS })],
      fc.tuple(fc.integer({ min: 1, max: HEIGHTS }), fc.integer({ min: 1, max: HEIGHTS })),
      async (main, other, first, second, again, forkHeight, ends) => {
        const [straight, turned] = [openCatalog(), openCatalog()];
        for (const catalog of [straight, turned]) catalog.chain.recordStart(1);
        straight.chain.recordBlocks(
          main.map((contents, index) => blockAt('a', index + 1, contents)),
          () => false,
        );
        store(straight, first);
        // Walks along a branch that loses, with its blobs, before it turns.
        const kept = main.slice(0, forkHeight - 1).map((contents, index) => blockAt('a', index + 1, contents));
        const lost = other.slice(forkHeight - 1).map((contents, index) => blockAt('b', forkHeight + index, contents));
        turned.chain.recordBlocks(kept, () => false);
        turned.chain.recordBlocks(
          lost.map((one, index) => (index === 0 ? { ...one, previousHash: hash('a', forkHeight - 1) } : one)),
          () => false,
        );
        store(turned, again);
        turned.chain.takeBack(forkHeight - 1);
        turned.chain.recordBlocks(
          main.slice(forkHeight - 1).map((contents, index) => blockAt('a', forkHeight + index, contents)),
          () => false,
        );
        store(turned, second);
        const [from, to] = [Math.min(...ends), Math.max(...ends)];
        const [one, two] = await Promise.all([plan(straight, from, to), plan(turned, from, to)]);
        expect(two).toEqual(one);
        const inRange = main.slice(from - 1, to);
        expect(one.manifest).toMatchObject({
          blobs: new Set(inRange.flat()).size,
          records: inRange.flat().length,
          counts: { stored: inRange.flat().length, missing: 0 },
        });
        const again2 = await Array.fromAsync(partsAgain({ ...one.manifest }, one.parts, turned, recordText, NEVER));
        expect(again2.flatMap(({ sections }) => sections).length).toBe(one.manifest.blobs + one.manifest.records);
        straight.close();
        turned.close();
      },
    ),
    { numRuns: 20 },
  );
});

test('content that is not stored is named once, with the height of its first occurrence in the range', async () => {
  const catalog = openCatalog();
  catalog.chain.recordStart(1);
  catalog.chain.recordBlocks([blockAt('a', 1, [0]), blockAt('a', 2, [1, 0]), blockAt('a', 3, [1])], () => false);
  store(catalog, [0]);
  const { notExported, notExportedCount, manifest } = await plan(catalog, 1, 3);
  expect(notExported).toMatchObject([{ versionHash: sighting('1').versionHash, height: 2, holding: 'missing' }]);
  expect({ notExportedCount, counts: manifest.counts }).toMatchObject({
    notExportedCount: 1,
    counts: { missing: 2, stored: 2 },
  });
});

test('the manifest counts apart what a rule leaves out, and the report does not call it not exported', async () => {
  const catalog = openCatalog({ rule: new ArchiveRule({ maxBlobBytes: 99, allowed: null }) });
  catalog.chain.recordStart(1);
  catalog.chain.recordBlocks([blockAt('a', 1, [0, 1]), blockAt('a', 2, [1])], () => false);
  store(catalog, [0]);
  catalog.noteListed([sighting('1')]);
  const { notExported, notExportedCount, manifest } = await plan(catalog, 1, 2);
  expect([notExported, notExportedCount, manifest.blobs, manifest.records]).toEqual([[], 0, 1, 1]);
  expect(manifest.counts).toMatchObject({ stored: 1, missing: 0, lost: 0, 'not-archived-by-rule': 2 });
});

test('a blob that is taken down while the bundle is written ends the writing', async () => {
  const catalog = openCatalog();
  catalog.chain.recordStart(1);
  catalog.chain.recordBlocks([blockAt('a', 1, [0])], () => false);
  store(catalog, [0]);
  const { parts, manifest } = await plan(catalog, 1, 1);
  const name = { versionHash: sighting('0').versionHash, hashType: typeOf(0) };
  catalog.withheld.record(
    [{ ...name, archiver: 'me', publicReason: null, reason: 'an order', atMs: 1, purge: false }],
    false,
  );
  await expect(Array.fromAsync(partsAgain(manifest, parts, catalog, recordText, NEVER))).rejects.toMatchObject({
    code: 'bundle/changed',
  });
});

test('take-downs of the range that came since the export began refuse the bundle, and no others', () => {
  const catalog = openCatalog();
  catalog.chain.recordStart(1);
  catalog.chain.recordBlocks([blockAt('a', 1, [0]), blockAt('a', 2, [1]), blockAt('a', 3, [0])], () => false);
  const takeDown = (content: number, atMs: number, archiver = 'me') => {
    const name = { versionHash: sighting(`${content}`).versionHash, hashType: typeOf(content) };
    catalog.withheld.record([{ ...name, archiver, publicReason: null, reason: 'an order', atMs, purge: false }], false);
  };
  const refuse = (from: number, to: number, before: ReadonlySet<string>) => () =>
    refuseTakenDown({ from, to }, before, catalog);
  const before = takeDowns(catalog);
  takeDown(0, 1);
  expect(refuse(2, 2, before)).not.toThrow();
  expect(refuse(1, 2, before)).toThrow(expect.objectContaining({ code: 'bundle/changed' }));
  expect(refuse(2, 3, before)).toThrow(expect.objectContaining({ code: 'bundle/changed' }));
  const withheld = takeDowns(catalog);
  takeDown(0, 2, 'another');
  expect(refuse(1, 3, withheld)).not.toThrow();
});
