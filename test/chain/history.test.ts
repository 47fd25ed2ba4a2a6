import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { WalkedBlock, WalkedOccurrence } from '../../src/catalog/walked-block.ts';
import { type HashType, parseBlockHash, parseTxId, parseVersionHash } from '../../src/core/blob/ids.ts';
import { openCatalog, spooled } from '../catalog/catalog-in-folder.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const hex = (label: string) => createHash('sha256').update(label).digest('hex');
const hashOf = (height: number) => parseBlockHash(hex(`block ${height}`));
const name = (label: string, hashType: HashType = 'keccak256') => ({
  versionHash: parseVersionHash(hex(label)),
  hashType,
});
const BEGINNING = { height: -1, transactionIndex: -1 };

function occurrence(label: string, transactionIndex = 1): WalkedOccurrence {
  const txid = parseTxId(hex(`${label} tx ${transactionIndex} ${Math.random()}`));
  return { ...name(label), txid, vout: 0, transactionIndex, makeRecord: () => '{}' };
}

function block(height: number, occurrences: WalkedOccurrence[] = []): WalkedBlock {
  const timeSeconds = 1_767_000_000 + height * 150;
  const times = { timeSeconds, medianTimeSeconds: timeSeconds - 900 };
  return { height, hash: hashOf(height), previousHash: hashOf(height - 1), ...times, occurrences, unclear: [] };
}

/** A catalog that started at height 100 and reached 101. */
function walked(catalog: Catalog = openCatalog()): Catalog {
  catalog.chain.recordStart(100);
  catalog.chain.recordBlocks([block(100), block(101)], () => false);
  return catalog;
}

describe('history below the start height', () => {
  test('history keeps the start, survives a restart, and continues below', () => {
    const folder = temporaryFolder();
    const before = walked(openCatalog({ folder }));
    expect(before.chain.state).toMatchObject({ startHeight: 100, lowestHeight: 100 });
    before.chain.recordHistory([block(98, [occurrence('old')]), block(99)]);
    before.close();
    const { chain } = openCatalog({ folder });
    expect(chain.state).toMatchObject({ startHeight: 100, lowestHeight: 98, tip: { height: 101 } });
    expect(chain.hashBefore).toBe(hashOf(97));
    chain.recordHistory([block(97)]);
    expect(chain.blockAt(97)).toMatchObject({ hash: hashOf(97) });
    expect(chain.occurrences(name('old'), null, 10)).toMatchObject([{ height: 98 }]);
  });

  test('only the parent that the followed block names is accepted', () => {
    const { chain } = walked();
    const stranger = { ...block(99), hash: parseBlockHash(hex('stranger')) };
    expect(() => chain.recordHistory([stranger])).toThrow();
    expect(() => chain.recordHistory([block(98)])).toThrow();
    expect(() => chain.recordHistory([block(97), block(99)])).toThrow();
    expect(chain.state.lowestHeight).toBe(100);
    expect(chain.blockAt(98)).toBeNull();
  });

  test('blobs in history are not queued and do not count as unsaved', () => {
    const catalog = walked();
    catalog.chain.recordHistory([block(99, [occurrence('old')])]);
    expect(catalog.nextQueued(10)).toEqual([]);
    expect(catalog.totals().seen).toBe(0);
    expect(catalog.losses.overdue(2_000_000_000, 10)).toEqual([]);
    catalog.recordSpooled([spooled('old')]);
    expect(catalog.answers.firstUnsavedHeight(100)).toBeNull();
    expect(catalog.answers.firstUnsavedHeight(0)).toBe(99);
  });

  test('history is final when the block above is', () => {
    const catalog = walked();
    catalog.chain.useFinality('chainlock');
    catalog.chain.recordFinal(101);
    catalog.chain.recordHistory([block(99, [occurrence('old')])]);
    catalog.recordSpooled([spooled('old')]);
    expect(catalog.records.due('local', BEGINNING, 101, 10)).toMatchObject([{ height: 99 }]);
    expect(catalog.records.dueBetween(99, 99)).toBe(1);
    expect(catalog.records.dueBetween(100, 101)).toBe(0);
  });

  test('held content gets records of its first occurrences, however many it has', () => {
    const catalog = walked();
    catalog.recordSpooled([spooled('same')]);
    const many = Array.from({ length: 40 }, (_, index) => occurrence('same', index));
    catalog.chain.recordHistory([block(98, many), block(99, many)]);
    catalog.chain.recordHistory([block(97, [occurrence('same')])]);
    const due = catalog.records.due('local', BEGINNING, 101, 100);
    expect(due).toHaveLength(17);
    expect(due[0]).toMatchObject({ height: 97 });
    expect(due.slice(1).every(({ height }) => height === 98)).toBe(true);
  });

  test('a reorganisation through all of history removes it', () => {
    const catalog = walked();
    catalog.chain.recordHistory([block(98, [occurrence('old')]), block(99)]);
    expect(catalog.chain.takeBack(97)).toMatchObject({ blocks: 4, occurrences: 1 });
    expect(catalog.chain.state).toMatchObject({ startHeight: 100, lowestHeight: 100, tip: null });
  });
});
