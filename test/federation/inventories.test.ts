import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { ArchiveRule } from '../../src/core/blob/archive-rule.ts';
import { type HashType, parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { Inventories } from '../../src/federation/inventories.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { HOLDINGS, type Holding } from '../../src/verify/inventory.ts';
import { openCatalog, sighting, spooled } from '../catalog/catalog-in-folder.ts';

const NEVER = new AbortController().signal;
const hash = (height: number) => parseBlockHash(height.toString(16).padStart(64, '0'));
const GENESIS = hash(0);
const txidOf = (label: string) => createHash('sha256').update(`${label} txid`).digest('hex');

interface Mined {
  readonly label: string;
  readonly holding: Holding;
  readonly hashType?: HashType;
}

/** Blocks from height 1 on. */
function archive(blocks: readonly (readonly Mined[])[]) {
  const catalog = openCatalog({ rule: new ArchiveRule({ maxBlobBytes: 100, allowed: null }) });
  catalog.chain.recordStart(1);
  for (const [index, mined] of blocks.entries()) {
    const height = index + 1;
    const occurrences = mined.map(({ label, hashType = 'keccak256' }, transactionIndex) => ({
      versionHash: sighting(label).versionHash,
      hashType,
      txid: parseTxId(txidOf(label)),
      vout: 70_000 + transactionIndex,
      transactionIndex,
      makeRecord: () => '{}',
    }));
    const times = { timeSeconds: height * 100, medianTimeSeconds: height * 100 };
    const block = { height, hash: hash(height), previousHash: hash(height - 1), ...times, occurrences, unclear: [] };
    catalog.chain.recordBlocks([block], () => false);
    for (const one of mined) hold(catalog, one, height);
  }
  const chain = { finalHeight: blocks.length, lacksHistory: false };
  const catalogRebuild = { isDone: true };
  const boundChain = async () => GENESIS;
  const time = { nowMs: 0 };
  return {
    catalog,
    time,
    chain,
    catalogRebuild,
    inventories: new Inventories(catalog, nobleHasher, chain, catalogRebuild, boundChain, {
      steadyMs: () => time.nowMs,
    }),
  };
}

function hold(catalog: Catalog, { label, holding, hashType = 'keccak256' }: Mined, height: number): void {
  const { versionHash } = sighting(label);
  const name = { versionHash, hashType };
  if (holding === 'lost') {
    catalog.losses.record([{ ...name, upToHeight: height, deadlineSeconds: 1, answers: [] }]);
  } else if (holding === 'withheld') {
    catalog.withheld.record(
      [{ ...name, archiver: 'me', publicReason: null, reason: 'an order', atMs: 1, purge: false }],
      false,
    );
  } else if (holding === 'not-archived-by-rule') {
    catalog.noteListed([sighting(label, { sizeBytes: 101 })]);
  } else if (holding === 'custom') {
    catalog.custom.record({ versionHash, keccak: versionHash }, 3, 'local');
  } else if (holding === 'stored') {
    catalog.recordSpooled([spooled(label, hashType)]);
    catalog.recordProven('local', catalog.find(versionHash));
  }
}

const BLOCKS: readonly (readonly Mined[])[] = [
  [
    { label: 'a', holding: 'stored' },
    { label: 'b', holding: 'stored', hashType: 'blake2s256' },
  ],
  [],
  [
    { label: 'c', holding: 'missing' },
    { label: 'd', holding: 'lost' },
    { label: 'e', holding: 'withheld' },
    { label: 'f', holding: 'custom' },
    { label: 'g', holding: 'not-archived-by-rule' },
  ],
];

const keccak = (...parts: readonly Uint8Array[]) => nobleHasher.keccak256(Buffer.concat(parts));

function digestByDefinition(height: number): Buffer {
  const packed = (BLOCKS[height - 1] ?? []).map(({ label, holding, hashType }, index) => {
    const vout = Buffer.alloc(4);
    vout.writeUInt32BE(70_000 + index);
    const type = Buffer.of(hashType === 'blake2s256' ? 2 : 1);
    const version = Buffer.from(sighting(label).versionHash, 'hex');
    return Buffer.concat([
      Buffer.from(txidOf(label), 'hex'),
      vout,
      type,
      version,
      Buffer.of(HOLDINGS.indexOf(holding)),
    ]);
  });
  return Buffer.from(keccak(Buffer.of(0), Buffer.from(hash(height), 'hex'), ...packed));
}

test('every kind of holding is counted, listed in the order of the chain, and covered by the digest', async () => {
  const lookup = await archive(BLOCKS).inventories.inventory(null, null, NEVER);
  const empty = Buffer.alloc(32);
  // Heights 1 and 3 below a root of four: (empty, 1), (empty, 3).
  const digest = keccak(
    Buffer.of(1),
    keccak(Buffer.of(1), empty, digestByDefinition(1)),
    keccak(Buffer.of(1), empty, digestByDefinition(3)),
  );
  expect(lookup).toEqual({
    kind: 'found',
    inventory: {
      chain: GENESIS,
      from: 1,
      to: 3,
      finalHeight: 3,
      blockHash: hash(3),
      counts: { stored: 2, missing: 1, lost: 1, withheld: 1, custom: 1, 'not-archived-by-rule': 1 },
      digest: Buffer.from(digest).toString('hex'),
      parts: null,
      held: '2s1m1l1w1c1n',
    },
  });
});

test('two archives that hold the same say the same, and a range without occurrences has an empty digest', async () => {
  const [one, other] = await Promise.all(
    [archive(BLOCKS), archive(BLOCKS)].map(({ inventories }) => inventories.inventory(1, 3, NEVER)),
  );
  expect(one).toEqual(other);
  expect(await archive(BLOCKS).inventories.inventory(2, 2, NEVER)).toMatchObject({
    inventory: { digest: '00'.repeat(32), held: '', parts: null },
  });
});

test('nothing is said of heights that are not final, not walked, or being walked again', async () => {
  const { inventories, chain, catalogRebuild } = archive(BLOCKS);
  const reasonFor = async (from: number | null, to: number | null) => {
    const lookup = await inventories.inventory(from, to, NEVER);
    return lookup.kind === 'unavailable' ? lookup.reason : null;
  };
  expect(await reasonFor(1, 4)).toBe('not-final');
  expect(await reasonFor(4, null)).toBe('not-final');
  expect(await reasonFor(0, 2)).toBe('not-walked');
  expect(await reasonFor(null, 0)).toBe('not-walked');
  chain.lacksHistory = true;
  expect(await reasonFor(1, 2)).toBe('rebuilding');
  chain.lacksHistory = false;
  catalogRebuild.isDone = false;
  expect(await reasonFor(1, 2)).toBe('rebuilding');
});

test('nothing is said of heights that a reorganisation has made open again before their turn came', async () => {
  const { inventories, chain } = archive(BLOCKS);
  let looks = 0;
  Object.defineProperty(chain, 'finalHeight', { get: () => (++looks === 1 ? 3 : 2) });
  expect(await inventories.fresh(null, null, NEVER)).toMatchObject({ kind: 'unavailable', reason: 'not-final' });
  expect(await inventories.fresh(null, null, NEVER)).toMatchObject({ kind: 'found', inventory: { to: 2 } });
});

test('a range that was read is told again as it was for 10 s of the archive’s own clock, and then read again', async () => {
  const { inventories, catalog, time } = archive(BLOCKS);
  const stored = async () => {
    const lookup = await inventories.inventory(null, null, NEVER);
    return lookup.kind === 'found' ? lookup.inventory.counts.stored : null;
  };
  expect(await stored()).toBe(2);
  hold(catalog, { label: 'c', holding: 'stored' }, 3);
  expect(await stored()).toBe(2);
  time.nowMs = 10_001;
  expect(await stored()).toBe(3);
});

test('many occurrences come in parts, which cover the range without those that have none', async () => {
  const blocks = Array.from({ length: 600 }, (_, index) =>
    index < 300
      ? []
      : Array.from({ length: 56 }, (__, at) => ({ label: `${index}/${at}`, holding: 'missing' as const })),
  );
  const lookup = await archive(blocks).inventories.inventory(null, null, NEVER);
  if (lookup.kind !== 'found') throw new Error('there is no inventory');
  const { parts, held, counts } = lookup.inventory;
  expect([held, counts.missing]).toEqual([null, 16_800]);
  expect(parts?.length).toBeLessThanOrEqual(256);
  expect(parts?.at(0)?.to).toBeGreaterThanOrEqual(301);
  expect(parts?.at(-1)?.to).toBe(600);
  expect(parts?.reduce((sum, part) => sum + part.counts.missing, 0)).toBe(16_800);
});
