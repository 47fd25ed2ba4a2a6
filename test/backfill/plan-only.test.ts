import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { BackfillEvent } from '../../src/backfill/backfill-report.ts';
import { MissingInRange } from '../../src/backfill/missing-in-range.ts';
import { planOnly } from '../../src/backfill/plan-only.ts';
import type { ToldSize } from '../../src/backfill/source/backfill-source.ts';
import { VerifiedSource } from '../../src/backfill/verified-source.ts';
import { ArchiveRule } from '../../src/core/blob/archive-rule.ts';
import { parseBlockHash, parseTxId, parseVersionHash } from '../../src/core/blob/ids.ts';
import { openCatalog } from '../catalog/catalog-in-folder.ts';

const hex = (label: string) => createHash('sha256').update(label).digest('hex');
const NEVER = new AbortController().signal;

/** One blob that is missing here, and sources that say this of its size. */
async function planned(told: readonly ToldSize[], rule = ArchiveRule.EVERYTHING) {
  const catalog = openCatalog({ rule });
  catalog.chain.recordStart(5);
  const occurrence = {
    versionHash: parseVersionHash(hex('blob')),
    hashType: 'keccak256' as const,
    txid: parseTxId(hex('tx')),
    vout: 0,
    transactionIndex: 1,
    makeRecord: () => '{}',
  };
  const hashes = { hash: parseBlockHash(hex('5')), previousHash: parseBlockHash(hex('4')) };
  const block = { height: 5, ...hashes, timeSeconds: 1, medianTimeSeconds: 1, occurrences: [occurrence], unclear: [] };
  catalog.chain.recordBlocks([block], () => true);
  const report: BackfillEvent[] = [];
  const verifier = { verify: async () => null };
  const tell = (event: BackfillEvent) => void report.push(event);
  const clock = { wallMs: () => 0, steadyMs: () => 0 };
  const sources = told.map((size, index) => {
    const source = {
      name: `source ${index}`,
      find: async () => ({ kind: 'absent' as const }),
      size: async () => size,
      close: async () => {},
    };
    return new VerifiedSource(source, verifier, tell, clock);
  });
  const range = new MissingInRange({ from: 5, to: 5 }, catalog);
  const plan = await planOnly(range, sources, 1, tell, NEVER);
  const { fetched, missingCount, leftOutCount, unaskedCount, unasked } = plan;
  return { fetched, missingCount, leftOutCount, unaskedCount, why: unasked[0]?.answers.at(-1)?.why };
}

test.each<[string, readonly ToldSize[], object]>([
  ['a source has it', [1_000], { fetched: 1, missingCount: 0, unaskedCount: 0 }],
  ['a source has it, and does not tell its size', ['unknown'], { fetched: 1, missingCount: 0, unaskedCount: 0 }],
  ['a later source has it', ['untold', null, 5], { fetched: 1, missingCount: 0, unaskedCount: 0 }],
  ['nobody has it', [null, null], { fetched: 0, missingCount: 1, unaskedCount: 0 }],
  ['a source withholds it', ['withheld'], { fetched: 0, missingCount: 1, unaskedCount: 0 }],
  [
    'a source does not tell without giving the bytes',
    [null, 'untold'],
    { fetched: 0, missingCount: 0, unaskedCount: 1, why: expect.stringContaining('without being asked for the bytes') },
  ],
])('a dry run promises only what a source says it has: %s', async (_what, told, expected) => {
  expect(await planned(told)).toMatchObject({ leftOutCount: 0, ...expected });
});

test('a dry run counts apart what a rule left out and no source says it has', async () => {
  const nothing = new ArchiveRule({ maxBlobBytes: null, allowed: new Set() });
  expect(await planned([null], nothing)).toMatchObject({ fetched: 0, missingCount: 0, leftOutCount: 1 });
  expect(await planned([5], nothing)).toMatchObject({ fetched: 1, missingCount: 0, leftOutCount: 0 });
});
