import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { WalkedBlock, WalkedOccurrence } from '../../src/catalog/walked-block.ts';
import { type HashType, parseBlockHash, parseTxId, parseVersionHash } from '../../src/core/blob/ids.ts';
import { auditOf } from '../catalog/audit-of.ts';
import { openCatalog, sighting, spooled } from '../catalog/catalog-in-folder.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const hex = (label: string) => createHash('sha256').update(label).digest('hex');
const hashOf = (height: number, branch = '') => parseBlockHash(hex(`block ${branch}${height}`));

function occurrence(label: string, index = 1, hashType: HashType = 'keccak256'): WalkedOccurrence {
  return {
    versionHash: parseVersionHash(hex(label)),
    hashType,
    txid: parseTxId(hex(`${label} tx ${index}`)),
    vout: 0,
    transactionIndex: index,
    makeRecord: () => '{}',
  };
}

function block(
  height: number,
  occurrences: WalkedOccurrence[] = [],
  previous = hashOf(height - 1),
  branch = '',
): WalkedBlock {
  const timeSeconds = 1_767_000_000 + height * 150;
  const times = { timeSeconds, medianTimeSeconds: timeSeconds - 900 };
  return { height, hash: hashOf(height, branch), previousHash: previous, ...times, occurrences, unclear: [] };
}

function walked(blocks: readonly WalkedBlock[], catalog: Catalog = openCatalog()): Catalog {
  catalog.chain.recordStart(blocks[0]?.height ?? 0);
  catalog.chain.recordBlocks(blocks, () => false);
  return catalog;
}

const name = (label: string, hashType: HashType = 'keccak256') => ({
  versionHash: parseVersionHash(hex(label)),
  hashType,
});

describe('the follower’s tables', () => {
  test('the cursor moves past recorded blocks and survives a restart', () => {
    const folder = temporaryFolder();
    const before = walked([block(100), block(101, [occurrence('a')])], openCatalog({ folder }));
    before.chain.useFinality('chainlock');
    before.chain.recordFinal(100);
    before.close();
    const { chain } = openCatalog({ folder });
    chain.useFinality('chainlock');
    expect(chain.state).toMatchObject({ startHeight: 100, tip: { height: 101 }, finalHeight: 100 });
    expect(chain.occurrences(name('a'), null, 10)).toMatchObject([{ height: 101, blockHash: hashOf(101) }]);
  });

  test('a block that does not connect is refused with its whole group', () => {
    const catalog = walked([block(100)]);
    expect(() => catalog.chain.recordBlocks([block(101), block(103)], () => false)).toThrow();
    expect(catalog.chain.state.tip?.height).toBe(100);
    expect(catalog.chain.blockAt(101)).toBeNull();
  });

  test('the first call fixes the start', () => {
    const catalog = walked([block(100)]);
    catalog.chain.recordStart(50);
    expect(catalog.chain.state.startHeight).toBe(100);
  });

  test('a block that another rule made final is not final by this one', () => {
    const catalog = walked([block(100), block(101)]);
    catalog.chain.useFinality('depth:1');
    catalog.chain.recordFinal(101);
    catalog.chain.useFinality('chainlock');
    expect(catalog.chain.state.finalHeight).toBeNull();
  });
});

describe('the fetch queue', () => {
  test('blobs on chain come first by deadline, unconfirmed ones last', () => {
    const catalog = openCatalog();
    catalog.noteListed([sighting('waiting', { medianTimeSeconds: 1 }), sighting('young'), sighting('old')]);
    walked([block(100, [occurrence('old', 1)]), block(101, [occurrence('young', 1)])], catalog);
    const order = catalog.nextQueued(10).map(({ versionHash }) => versionHash);
    expect(order).toEqual([hex('old'), hex('young'), hex('waiting')]);
    expect(catalog.findQueued(name('old').versionHash)).toMatchObject({ hashType: 'keccak256', sizeBytes: 100 });
  });

  test('a blob known from its block alone has an upper bound as size until a list names it', () => {
    const catalog = walked([block(100, [occurrence('a')])]);
    expect(catalog.nextQueued(10)).toMatchObject([{ sizeIsBound: true, sizeBytes: 2_097_152 }]);
    catalog.noteListed([sighting('a')]);
    expect(catalog.nextQueued(10)).toMatchObject([{ sizeIsBound: false, sizeBytes: 100, hashType: 'keccak256' }]);
  });

  test('a blob that is held needs no fetch', () => {
    const catalog = openCatalog();
    catalog.recordSpooled([spooled('a')]);
    walked([block(100, [occurrence('a')])], catalog);
    expect(catalog.nextQueued(10)).toEqual([]);
    expect(catalog.chain.firstHeight(name('a'))).toBe(100);
    expect(catalog.chain.firstHeight(name('a', 'blake2s256'))).toBeNull();
  });

  test('a blob recorded past its deadline is not fetched until a list names it', () => {
    const catalog = openCatalog();
    catalog.chain.recordStart(100);
    catalog.chain.recordBlocks([block(100, [occurrence('a')])], () => true);
    expect(catalog.nextQueued(10)).toEqual([]);
    expect(catalog.losses.overdue(1_767_000_000 + 100_000, 10)).toHaveLength(1);
    catalog.noteListed([sighting('a')]);
    expect(catalog.nextQueued(10)).toHaveLength(1);
  });
});

describe('a rollback', () => {
  test('a rollback removes occurrences, keeps content, and dequeues blobs of dead blocks', () => {
    const catalog = openCatalog();
    catalog.noteListed([sighting('listed')]);
    walked([block(100), block(101, [occurrence('listed', 1), occurrence('unlisted', 2)])], catalog);
    const taken = catalog.chain.takeBack(100);
    expect(taken).toMatchObject({ blocks: 1, occurrences: 2, withdrawn: [] });
    expect(catalog.nextQueued(10)).toMatchObject([{ versionHash: hex('listed'), hashType: null }]);
    catalog.chain.recordBlocks([block(101, [], hashOf(100), 'other ')], () => false);
    expect(catalog.chain.heightOf(hashOf(101))).toBeNull();
    expect(catalog.chain.heightOf(hashOf(101, 'other '))).toBe(101);
  });

  test('a blob that an earlier block has as well keeps the deadline of that block', () => {
    const catalog = walked([block(100, [occurrence('a')]), block(101), block(102, [occurrence('a', 2)])]);
    const due = () => catalog.nextQueued(10).map(({ medianTimeSeconds }) => medianTimeSeconds);
    expect(due()).toEqual([block(102).medianTimeSeconds]);
    catalog.chain.takeBack(101);
    expect(due()).toEqual([block(100).medianTimeSeconds]);
    expect(catalog.losses.overdue(block(100).medianTimeSeconds + 21_601, 10)).toHaveLength(1);
  });

  test('a rollback withdraws final occurrences above, and the ones below stay final', () => {
    const catalog = walked([block(100), block(101, [occurrence('a')]), block(102, [occurrence('b')])]);
    catalog.chain.useFinality('depth:1');
    catalog.chain.recordFinal(101);
    const { withdrawn } = catalog.chain.takeBack(100);
    expect(withdrawn).toMatchObject([{ versionHash: hex('a'), height: 101 }]);
    expect(catalog.chain.state).toMatchObject({ finalHeight: 100, tip: { height: 100 } });
    expect(catalog.records.undeleted('local', 0, 10)).toMatchObject([
      { versionHash: hex('a'), blockHash: hashOf(101) },
    ]);
  });

  test('a rollback below every recorded block restarts at the same height', () => {
    const catalog = walked([block(100), block(101)]);
    catalog.chain.takeBack(99);
    expect(catalog.chain.state).toMatchObject({ startHeight: 100, tip: null });
    catalog.chain.recordBlocks([block(100, [], hashOf(99), 'other ')], () => false);
    expect(catalog.chain.state.tip?.hash).toBe(hashOf(100, 'other '));
  });
});

describe('many occurrences of one content', () => {
  test('many occurrences cost no more to read than one, and get sixteen records', async () => {
    const perBlock = 1_000;
    const blocks = Array.from({ length: 20 }, (_, at) =>
      block(
        100 + at,
        Array.from({ length: perBlock }, (_unused, index) => ({
          ...occurrence('same', index),
          txid: parseTxId(hex(`${at}/${index}`)),
        })),
      ),
    );
    const catalog = walked(blocks);
    catalog.chain.useFinality('chainlock');
    catalog.recordSpooled([spooled('same')]);
    catalog.chain.recordFinal(119);
    expect(catalog.records.due('local', { height: -1, transactionIndex: -1 }, 119, 100)).toHaveLength(16);
    const first = catalog.chain.occurrences(name('same'), null, 16);
    expect(first.map(({ transactionIndex }) => transactionIndex)).toEqual(
      Array.from({ length: 16 }, (_, index) => index),
    );
    expect(catalog.chain.occurrences(name('same'), first.at(-1) ?? null, 1)).toMatchObject([{ transactionIndex: 16 }]);
    expect(await auditOf(catalog)).toMatchObject({
      occurrences: { stored: 0, pending: 20_000, lost: 0 },
      spooled: 20_000,
    });
  });
});

test('a loss is recorded with its answers, counted, and revoked when the bytes turn up', async () => {
  const catalog = walked([block(100, [occurrence('a'), occurrence('b', 2)])]);
  const answers = [{ source: 'node x', answered: 'absent' as const, at: '2026-01-01T00:00:00.000Z' }];
  catalog.losses.record([{ ...name('a'), upToHeight: 100, deadlineSeconds: 5, answers }]);
  expect(catalog.nextQueued(10)).toHaveLength(1);
  expect(catalog.losses.find(name('a'))).toMatchObject({ answers });
  expect(await auditOf(catalog)).toMatchObject({ occurrences: { stored: 0, pending: 1, lost: 1 }, spooled: 0 });
  expect(catalog.losses.takeRevoked()).toEqual([]);
  catalog.recordSpooled([spooled('a')]);
  expect(catalog.losses.count()).toBe(0);
  expect(catalog.losses.takeRevoked()).toMatchObject([name('a')]);
  expect(catalog.losses.takeRevoked()).toEqual([]);
});

describe('nodes on other branches', () => {
  const branch = (commonHeight: number, isForked = false) => ({ commonHeight, isForked });
  const assumed = (commonHeight: number) => ({ commonHeight, isForked: true, isAssumed: true });

  test('a node that shared the rolled-back blocks counts as on another branch until it answers, over a restart too', () => {
    const folder = temporaryFolder();
    const catalog = walked([block(100), block(101), block(102), block(103)], openCatalog({ folder }));
    catalog.chain.nodeBranches.replace(
      new Map([
        ['followed', branch(103)],
        ['lagging', branch(100)],
        ['other', branch(101, true)],
      ]),
    );
    catalog.chain.takeBack(101);
    const expected = new Map([
      ['followed', assumed(101)],
      ['lagging', branch(100)],
      ['other', assumed(101)],
    ]);
    expect(catalog.chain.nodeBranches.all).toEqual(expected);
    catalog.close();
    const { nodeBranches } = openCatalog({ folder }).chain;
    expect(nodeBranches.all).toEqual(expected);
    expect(nodeBranches.lastCommonHeight).toBe(101);
  });

  test('blocks without a comparison may come from any node that answered last', () => {
    const catalog = walked([block(100), block(101), block(102)]);
    catalog.chain.nodeBranches.replace(
      new Map([
        ['followed', branch(100)],
        ['long gone', branch(99)],
      ]),
    );
    catalog.chain.takeBack(101);
    expect(catalog.chain.nodeBranches.all.get('followed')).toEqual(assumed(100));
    expect(catalog.chain.nodeBranches.all.get('long gone')).toEqual(branch(99));
  });

  test('nothing above the last common block of all nodes is recorded as final', () => {
    const catalog = walked([block(100), block(101), block(102)]);
    catalog.chain.useFinality('chainlock');
    catalog.chain.nodeBranches.replace(new Map([['other', branch(101, true)]]));
    catalog.chain.recordFinal(102);
    expect(catalog.chain.state.finalHeight).toBe(101);
    catalog.chain.nodeBranches.replace(new Map([['other', branch(102)]]));
    catalog.chain.recordFinal(102);
    expect(catalog.chain.state.finalHeight).toBe(102);
  });
});
