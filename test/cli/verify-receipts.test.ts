import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseBlockHash, parseTxId, parseVersionHash, type ReceiptStatement } from '../../src/verify/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { SIGNED_AT, signedBy, type TestSigner, testSigner } from '../verify/signers.ts';
import { cli } from './cli-in-process.ts';

const [ONE, TWO] = [testSigner(), testSigner()];
const SUBMITTED = parseVersionHash('0a'.repeat(32));
const OTHER = parseVersionHash('0b'.repeat(32));

function receiptOf(versionHash: ReceiptStatement['versionHash'], by: TestSigner) {
  const statement: ReceiptStatement = {
    ...({ kind: 'holdfast/receipt', format: 1, archiver: 'ab'.repeat(8), key: by.key, versionHash } as const),
    ...({ hashType: 'keccak256', sizeBytes: 900, state: 'stored-and-final', vout: 1, at: SIGNED_AT } as const),
    ...{ chain: parseBlockHash('01'.repeat(32)), txid: parseTxId('02'.repeat(32)) },
    ...{ height: 12, blockHash: parseBlockHash('03'.repeat(32)) },
  };
  return { archive: 'https://one.example', outcome: 'receipt', receipt: { ...signedBy(statement, by), keys: [] } };
}

async function verified(document: unknown) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'receipts.json'), JSON.stringify(document));
  return await cli(['verify', 'receipts.json', '--key', ONE.key, '--key', TWO.key], {}, folder);
}

test('receipts of several archivers count together when all of them are of the blob that was submitted', async () => {
  const archives = [receiptOf(SUBMITTED, ONE), receiptOf(SUBMITTED, TWO)];
  for (const document of [{ versionHash: SUBMITTED, archives }, { archives }])
    expect(await verified(document)).toMatchObject({ code: 0, stdout: expect.stringContaining('Receipts of 2') });
});

test('a receipt of another blob does not count as one of the blob that was submitted', async () => {
  const archives = [receiptOf(SUBMITTED, ONE), receiptOf(OTHER, TWO)];
  for (const document of [{ versionHash: SUBMITTED, archives }, { archives }, { versionHash: OTHER, archives }]) {
    const { code, stdout } = await verified(document);
    expect([code, stdout.includes('WRONG'), stdout.includes('Receipts of 2')]).toEqual([3, true, false]);
  }
});
