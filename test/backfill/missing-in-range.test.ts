import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { MissingInRange } from '../../src/backfill/missing-in-range.ts';
import { parseBlockHash, parseTxId, parseVersionHash } from '../../src/core/blob/ids.ts';
import { openCatalog, spooled } from '../catalog/catalog-in-folder.ts';
import { NEVER } from '../sample-blobs.ts';

const hex = (label: string) => createHash('sha256').update(label).digest('hex');
const SECONDS = 150;
const BLOCKS = 2_600;
const LONGEST_LOOK = 500;

/** Every tenth block has a blob, every hundredth the same one again; of each second nothing is here. */
function longChain() {
  const catalog = openCatalog();
  catalog.chain.recordStart(0);
  const labels = (height: number) =>
    height % 100 === 0 ? [`at ${height}`, 'again'] : height % 10 === 0 ? [`at ${height}`] : [];
  const blocks = Array.from({ length: BLOCKS }, (_, height) => ({
    height,
    hash: parseBlockHash(hex(`block ${height}`)),
    previousHash: parseBlockHash(hex(`block ${height - 1}`)),
    timeSeconds: height * SECONDS,
    medianTimeSeconds: height * SECONDS,
    occurrences: labels(height).map((label, transactionIndex) => ({
      hashType: 'keccak256' as const,
      versionHash: parseVersionHash(hex(label)),
      txid: parseTxId(hex(`${label} in ${height}`)),
      vout: 0,
      transactionIndex,
      makeRecord: () => '{}',
    })),
    unclear: [],
  }));
  catalog.chain.recordBlocks(blocks, () => false);
  const held = Array.from({ length: BLOCKS / 20 }, (_, index) => `at ${index * 20}`);
  catalog.recordSpooled(held.map((label) => spooled(label)));
  return catalog;
}

test('missing content is reported once each, and no look goes over more than some hundred blocks', async () => {
  const catalog = longChain();
  const looks: number[] = [];
  const missing: Pick<typeof catalog.missing, 'page' | 'count'> = {
    page: (range, after, to, limit) => {
      looks.push(to - after.height);
      return catalog.missing.page(range, after, to, limit);
    },
    count: (range, from, to) => {
      looks.push(to - from + 1);
      return catalog.missing.count(range, from, to);
    },
  };
  const { chain, answers, leftOut } = catalog;
  const range = new MissingInRange({ from: 0, to: BLOCKS - 1 }, { chain, answers, missing, leftOut, nowMs: () => 0 });
  const found: number[] = [];
  const names = new Set<string>();
  for await (const { height, versionHash } of range.all(NEVER)) {
    found.push(height);
    names.add(versionHash);
  }
  // The window comes first, and in it the content that is on chain repeatedly.
  const again = hex('again');
  const single = Array.from({ length: BLOCKS / 20 }, (_, index) => hex(`at ${index * 20 + 10}`));
  expect(names).toEqual(new Set([...single, again]));
  expect(found).toHaveLength(names.size);
  expect(await range.count(NEVER)).toMatchObject({ wanted: names.size });
  expect(Math.max(...looks)).toBeLessThanOrEqual(LONGEST_LOOK);
  expect(looks.length).toBeGreaterThan((2 * BLOCKS) / LONGEST_LOOK);
});
