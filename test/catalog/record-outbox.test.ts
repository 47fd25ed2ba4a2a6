import { expect, test } from 'vitest';
import { parseBlockHash } from '../../src/core/blob/ids.ts';
import { openCatalog, sighting, spooled } from './catalog-in-folder.ts';

const MOST = 16;
const BEGINNING = { height: -1, transactionIndex: -1 };

test('a store that was added between the block and the bytes gets the record as well', () => {
  const catalog = openCatalog();
  const blob = spooled('late');
  const { txid } = sighting('late');
  if (txid === null) throw new Error('a sighting has a transaction');
  const occurrence = {
    ...{ hashType: blob.hashType, versionHash: blob.versionHash },
    ...{ txid, vout: 1, transactionIndex: 2, makeRecord: () => '{}' },
  };
  const hashes = { hash: parseBlockHash('07'.repeat(32)), previousHash: parseBlockHash('06'.repeat(32)) };
  const times = { timeSeconds: 1, medianTimeSeconds: 1_767_000_000 };
  catalog.chain.recordStart(7);
  catalog.chain.recordBlocks([{ height: 7, ...hashes, ...times, occurrences: [occurrence], unclear: [] }], () => false);
  catalog.copies.useBackends(['local', 's3']);
  while (catalog.records.fillSome('s3', MOST, 100));
  catalog.recordSpooled([blob]);
  const due = (store: string) => catalog.records.due(store, BEGINNING, 7, 10);
  expect([due('local').length, due('s3').length]).toEqual([1, 1]);
  for (const store of ['local', 's3']) catalog.records.recordWritten(store, due(store));
  expect(catalog.records.dueBetween(0, 7)).toBe(0);
});

test('a record that is missed while its block leaves the branch is not queued, and holds up no later block', () => {
  const catalog = openCatalog();
  const blob = spooled('mined twice');
  const { txid } = sighting('mined twice');
  if (txid === null) throw new Error('a sighting has a transaction');
  const walk = (branch: string, record: string) => {
    const name = { hashType: blob.hashType, versionHash: blob.versionHash };
    const occurrence = { ...name, txid, vout: 1, transactionIndex: 2, makeRecord: () => record };
    const hashes = { hash: parseBlockHash(branch.repeat(32)), previousHash: parseBlockHash('06'.repeat(32)) };
    const times = { timeSeconds: 1, medianTimeSeconds: 1_767_000_000 };
    const block = { height: 7, ...hashes, ...times, occurrences: [occurrence], unclear: [] };
    catalog.chain.recordBlocks([block], () => false);
  };
  catalog.copies.useBackends(['local']);
  catalog.chain.recordStart(7);
  catalog.recordSpooled([blob]);
  walk('07', '{"branch":7}');
  const [missed] = catalog.chain.occurrences(blob, null, 1);
  if (missed === undefined) throw new Error('There is no occurrence.');
  catalog.chain.takeBack(6);
  catalog.records.requeue('local', [missed]);
  expect(catalog.records.isQueued('local', missed)).toBe(false);
  // A catalog in which an earlier version queued such a record walks on as well.
  catalog.records.add(missed, '');
  walk('08', '{"branch":8}');
  expect(catalog.records.due('local', BEGINNING, 7, 10)).toMatchObject([{ record: '{"branch":8}' }]);
});
