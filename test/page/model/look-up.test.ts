import { describe, expect, test } from 'vitest';
import { recordOnWire } from '../../../src/http/record-on-wire.ts';
import { ArchiveApi } from '../../../src/page/model/archive-api.ts';
import { lookUp } from '../../../src/page/model/look-up.ts';
import { blobOf, bytesOf, recordOf } from '../../http/fake-archive-view.ts';

const BLOB = blobOf(bytesOf(40));
const BLAKE = blobOf(bytesOf(41), 'blake2s256');
const TXID = 'cd'.repeat(32);
const signal = new AbortController().signal;
const NEEDS_ARCHIVER = refused(503, 'reader/needs-archiver');

function refused(status: number, code: string): Response {
  return Response.json({ code, detail: `It is ${code}.`, hint: '' }, { status });
}

/** A fake archive with one answer for each path. */
function api(answers: Readonly<Record<string, Response>>): ArchiveApi {
  return new ArchiveApi(
    '',
    () => null,
    async (url) => (answers[url] ?? refused(404, 'blob/absent')).clone(),
  );
}

const record = (blob: typeof BLOB) => Response.json(recordOnWire(recordOf(blob)));
const transaction = Response.json({ txid: TXID, hashType: 'keccak256', versionHash: BLOB.versionHash });

describe('the look-up of 64 characters', () => {
  test('the text is tried as a version hash, then as a transaction id', async () => {
    const archiver = api({
      [`v1/blobs/${BLOB.versionHash}/record`]: record(BLOB),
      [`v1/transactions/${TXID}`]: transaction,
    });
    expect(await lookUp(BLOB.versionHash, archiver, signal)).toMatchObject({ txid: null, record: { state: 'stored' } });
    const found = { name: { versionHash: BLOB.versionHash }, txid: TXID, record: { state: 'stored' } };
    expect(await lookUp(TXID, archiver, signal)).toMatchObject(found);
    await expect(lookUp('ab'.repeat(32), archiver, signal)).rejects.toMatchObject({ code: 'blob/absent' });
  });

  test('a reader without records gives the name alone, for bytes and proofs', async () => {
    const reader = api({
      [`v1/blobs/${BLOB.versionHash}/record`]: NEEDS_ARCHIVER,
      [`v1/transactions/${BLOB.versionHash}`]: NEEDS_ARCHIVER,
      [`v1/blobs/01${BLAKE.versionHash}/record`]: NEEDS_ARCHIVER,
    });
    const { versionHash } = BLOB;
    expect(await lookUp(versionHash, reader, signal)).toMatchObject({ name: { versionHash }, record: null });
    expect(await lookUp(`01${BLAKE.versionHash}`, reader, signal)).toMatchObject({
      name: { versionHash: BLAKE.versionHash, hashType: 'blake2s256' },
      record: null,
    });
  });

  test('an archiver maps the transaction to its content, and a stateless reader beside it is asked for the record', async () => {
    const both = api({
      [`v1/blobs/${TXID}/record`]: NEEDS_ARCHIVER,
      [`v1/transactions/${TXID}`]: transaction,
      [`v1/blobs/${BLOB.versionHash}/record`]: NEEDS_ARCHIVER,
    });
    const { versionHash } = BLOB;
    expect(await lookUp(TXID, both, signal)).toEqual({
      name: { hashType: 'keccak256', versionHash },
      txid: TXID,
      record: null,
    });
  });

  test('a withheld blob is not looked up as a transaction', async () => {
    const taken = recordOnWire({ ...recordOf(BLOB), state: 'withheld', publicReason: 'Said in X.' });
    const known = api({ [`v1/blobs/${BLOB.versionHash}/record`]: Response.json(taken) });
    expect(await lookUp(BLOB.versionHash, known, signal)).toMatchObject({
      record: { state: 'withheld', publicReason: 'Said in X.' },
    });
    const withheld = api({ [`v1/blobs/${BLOB.versionHash}/record`]: refused(451, 'blob/withheld') });
    await expect(lookUp(BLOB.versionHash, withheld, signal)).rejects.toMatchObject({ code: 'blob/withheld' });
  });
});
