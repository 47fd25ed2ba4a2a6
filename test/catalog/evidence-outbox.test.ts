import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { parseBlockHash, parseTxId, parseVersionHash } from '../../src/core/blob/ids.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openCatalog, sighting, spooled } from './catalog-in-folder.ts';

const hex = (label: string) => createHash('sha256').update(label).digest('hex');
const hashOf = (height: number) => parseBlockHash(hex(`block ${height}`));
const blob = { hashType: 'keccak256', versionHash: parseVersionHash(hex('a')) } as const;
const txid = parseTxId(hex('tx'));
const PATH = `lost/keccak256/${blob.versionHash}/${txid}-1.json`;
const answers = [{ source: 'node http://n', answered: 'absent', at: '2026-11-21T00:00:00.000Z' }] as const;
const loss = { ...blob, upToHeight: 7, deadlineSeconds: 9, answers };

/** Walked up to block 7, in which the blob is. */
function walked(folder = temporaryFolder()): Catalog {
  const catalog = openCatalog({ folder });
  catalog.chain.recordStart(7);
  const occurrence = { ...blob, txid, vout: 1, transactionIndex: 2, makeRecord: () => '{}' };
  const block = { height: 7, hash: hashOf(7), previousHash: hashOf(6), timeSeconds: 1, medianTimeSeconds: 1 };
  catalog.chain.recordBlocks([{ ...block, occurrences: [occurrence], unclear: [] }], () => false);
  return catalog;
}

describe('evidence', () => {
  test('each store gets every document in its latest state, and one that comes later gets all', () => {
    const { evidence, copies } = openCatalog();
    copies.useBackends(['local', 's3']);
    evidence.put('withheld/keccak256/x.json', { revokedAt: null });
    evidence.put('audits/1.json', { complete: true });
    const [first, second] = evidence.due('s3', 0, 10);
    expect([first?.path, second?.path]).toEqual(['withheld/keccak256/x.json', 'audits/1.json']);
    evidence.recordDelivered(
      's3',
      evidence.due('s3', 0, 10).map(({ sequence }) => sequence),
    );
    expect(evidence.due('s3', 0, 10)).toEqual([]);
    evidence.put('audits/1.json', { complete: true });
    expect(evidence.waitingFor('s3')).toBe(0);
    evidence.put('withheld/keccak256/x.json', { revokedAt: 'now' });
    expect(evidence.due('s3', 0, 10)).toMatchObject([{ path: first?.path, document: '{"revokedAt":"now"}' }]);
    expect(evidence.due('local', 0, 10).map(({ path }) => path)).toEqual([
      'audits/1.json',
      'withheld/keccak256/x.json',
    ]);
    expect(evidence.find('audits/1.json')).toEqual({ complete: true });
    expect(evidence.find('audits/2.json')).toBeNull();
  });

  test('a loss is evidence in the commit that records it: which output, until when, who answered', () => {
    const catalog = walked();
    catalog.losses.record([loss]);
    expect(catalog.evidence.find(PATH)).toMatchObject({
      format: 1,
      ...blob,
      txid,
      vout: 1,
      height: 7,
      blockHash: hashOf(7),
      upToHeight: 7,
      answers,
      revokedAt: null,
    });
  });

  test('a blob that is held is not lost, however late the answers that it is nowhere are recorded', () => {
    const catalog = walked();
    catalog.recordSpooled([spooled('a')]);
    expect(catalog.losses.record([loss])).toEqual([]);
    expect([catalog.losses.find(blob), catalog.evidence.find(PATH)]).toEqual([null, null]);
  });

  test('bytes that turn up revoke it: the document stays, and says so', () => {
    const catalog = walked();
    catalog.losses.record([loss]);
    catalog.recordSpooled([spooled('a')]);
    expect(catalog.losses.takeRevoked()).toMatchObject([{ ...blob, because: 'bytes-turned-up' }]);
    const revokedAt = expect.stringMatching(/^20.*Z$/);
    expect(catalog.evidence.find(PATH)).toMatchObject({ revokedAt, revokedBecause: 'bytes-turned-up', answers });
    expect(catalog.losses.takeRevoked()).toEqual([]);
  });

  test('a block that leaves the branch takes its losses with it; lost again in another, only that one holds', () => {
    const catalog = walked();
    catalog.losses.record([loss]);
    catalog.chain.takeBack(6);
    expect(catalog.losses.find(blob)).toBeNull();
    const again = { ...blob, txid: parseTxId(hex('again')), vout: 0, transactionIndex: 1, makeRecord: () => '{}' };
    const block = { height: 7, hash: hashOf(70), previousHash: hashOf(6), timeSeconds: 1, medianTimeSeconds: 1 };
    catalog.chain.recordBlocks([{ ...block, occurrences: [again], unclear: [] }], () => false);
    catalog.losses.record([loss]);
    expect(catalog.evidence.find(PATH)).toMatchObject({ revokedBecause: 'left-the-branch' });
    expect(catalog.evidence.find(PATH.replace(`${txid}-1`, `${again.txid}-0`))).toMatchObject({ revokedAt: null });
    expect(catalog.losses.count()).toBe(1);
  });
});

describe('evidence of a catalog that is no more', () => {
  test('losses of an earlier catalog are losses again, and those whose bytes are here are revoked', () => {
    const before = walked();
    before.losses.record([loss]);
    const documents = before.evidence.due('local', 0, 10);
    const after = openCatalog();
    after.losses.adoptEvidence(documents);
    expect(after.losses.find(blob)).toMatchObject({ ...loss, recordedMs: expect.any(Number) });

    const holding = openCatalog();
    holding.noteListed([sighting('a')]);
    holding.recordSpooled([spooled('a')]);
    holding.losses.adoptEvidence(documents);
    expect(holding.losses.find(blob)).toBeNull();
    expect(holding.losses.takeRevoked()).toHaveLength(1);
    expect(holding.evidence.find(PATH)).toMatchObject({ revokedBecause: 'bytes-turned-up' });
  });

  test('a state known here is later, and stays; an unreadable loss is kept as it is', () => {
    const catalog = openCatalog();
    catalog.evidence.put('audits/1.json', { now: 2 });
    catalog.losses.adoptEvidence([
      { path: 'audits/1.json', document: '{"now":1}' },
      { path: 'lost/keccak256/damaged.json', document: '{"format":2}' },
    ]);
    expect(catalog.evidence.find('audits/1.json')).toEqual({ now: 2 });
    expect(catalog.evidence.find('lost/keccak256/damaged.json')).toEqual({ format: 2 });
    expect(catalog.losses.count()).toBe(0);
  });
});
