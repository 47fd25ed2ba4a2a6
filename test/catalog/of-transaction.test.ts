import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { WalkedBlock } from '../../src/catalog/walked-block.ts';
import { parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { openCatalog, sighting } from './catalog-in-folder.ts';

const hash = (height: number) => parseBlockHash(height.toString(16).padStart(64, '0'));
const txidAt = (height: number) => parseTxId(createHash('sha256').update(`transaction ${height}`).digest('hex'));

test('a transaction is found wherever in a long chain it is, by all of its id', () => {
  const catalog = openCatalog();
  expect(catalog.chain.ofTransaction(txidAt(7))).toBeNull();
  const carrying = [100, 4_096, 8_191, 8_192, 12_300];
  const block = (height: number): WalkedBlock => {
    const { versionHash } = sighting(`at ${height}`);
    const occurrence = { versionHash, hashType: 'keccak256' as const, vout: 0, transactionIndex: 1 };
    const occurrences = carrying.includes(height)
      ? [{ ...occurrence, txid: txidAt(height), makeRecord: () => '{}' }]
      : [];
    const times = { timeSeconds: height, medianTimeSeconds: height };
    return { height, hash: hash(height), previousHash: hash(height - 1), ...times, occurrences, unclear: [] };
  };
  catalog.chain.recordStart(100);
  catalog.chain.recordBlocks(
    Array.from({ length: 12_201 }, (_, index) => block(100 + index)),
    () => true,
  );
  for (const height of carrying) {
    expect(catalog.chain.ofTransaction(txidAt(height))).toMatchObject({ height, blockHash: hash(height) });
    const another = parseTxId(`${txidAt(height).slice(0, 16)}${'00'.repeat(24)}`);
    expect(catalog.chain.ofTransaction(another)).toBeNull();
  }
});
