import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openCatalog, sighting, spooled } from './catalog-in-folder.ts';

const txid = parseTxId('ab'.repeat(32));
const hash = (height: number) => parseBlockHash(height.toString(16).padStart(64, '0'));

/** Blocks from height 1 on, each with these contents. `isPast`: what is on them rests in the queue. */
function walk(catalog: Catalog, blocks: readonly (readonly string[])[], isPast: (height: number) => boolean): void {
  catalog.chain.recordStart(1);
  for (const [index, labels] of blocks.entries()) {
    const height = index + 1;
    const occurrences = labels.map((label, transactionIndex) => {
      const { versionHash } = sighting(label);
      return { versionHash, hashType: 'keccak256' as const, txid, vout: 0, transactionIndex, makeRecord: () => '{}' };
    });
    const hashes = { height, hash: hash(height), previousHash: hash(height - 1) };
    const times = { timeSeconds: height * 100, medianTimeSeconds: height * 100 };
    catalog.chain.recordBlocks([{ ...hashes, ...times, occurrences, unclear: [] }], () => isPast(height));
  }
}

function store(catalog: Catalog, label: string): void {
  catalog.recordSpooled([spooled(label)]);
  catalog.recordProven('local', catalog.find(sighting(label).versionHash));
}

const label = fc.integer({ min: 0, max: 400 }).map(String);

test('the first height that is not saved is that of a search through everything, whatever is stored, lost or repeated', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(label, { maxLength: 12 }), { minLength: 1, maxLength: 40 }),
      fc.uniqueArray(label, { maxLength: 300 }),
      fc.uniqueArray(label, { maxLength: 20 }),
      fc.uniqueArray(label, { maxLength: 20 }),
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 0, max: 41 }),
      (blocks, stored, spooledOnly, lost, since, pastBelow) => {
        const catalog = openCatalog();
        walk(catalog, blocks, (height) => height < pastBelow);
        for (const one of stored) store(catalog, one);
        for (const one of spooledOnly) if (!stored.includes(one)) catalog.recordSpooled([spooled(one)]);
        const upTo = (one: string) => (lost.includes(one) ? 10 : -1);
        catalog.losses.record(
          lost
            .filter((one) => !stored.includes(one) && !spooledOnly.includes(one))
            .map((one) => {
              const name = { versionHash: sighting(one).versionHash, hashType: 'keccak256' as const };
              return { ...name, upToHeight: 10, deadlineSeconds: 1, answers: [] };
            }),
        );
        // Content lost up to a height is on chain above it, and wanted, when a later block was walked.
        catalog.noteListed(lost.map((one) => sighting(one)));
        const first = blocks.findIndex(
          (labels, index) =>
            index + 1 >= since &&
            labels.some((one) => !stored.includes(one) && (spooledOnly.includes(one) || index + 1 > upTo(one))),
        );
        const expected = first === -1 ? null : first + 1;
        expect(catalog.answers.firstUnsavedHeight(since)).toBe(expected);
        // The limit never changes the answer: it may only prevent one.
        for (const most of [0, 3, 20, 100]) {
          expect([expected, 'too-many']).toContain(catalog.answers.firstUnsavedHeight(since, most));
        }
        const snapshot = catalog.snapshot();
        const inSteps = [...snapshot.unsaved(since, blocks.length)].find((found) => found !== null);
        snapshot.close();
        expect(inSteps ?? null).toBe(expected);
        catalog.close();
      },
    ),
    { numRuns: 60 },
  );
});

test('the queue has an index for each of its parts, and two for what fails', () => {
  const folder = temporaryFolder();
  openCatalog({ folder });
  const database = new Database(join(folder, 'catalog.sqlite'), { readonly: true });
  onTestFinished(() => void database.close());
  const indexes = database
    .prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'seen' AND sql IS NOT NULL ORDER BY name",
    )
    .pluck()
    .all();
  expect(indexes).toEqual(['seen_again', 'seen_failing', 'seen_listed', 'seen_mined', 'seen_resting']);
});
