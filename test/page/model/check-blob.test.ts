import { describe, expect, test } from 'vitest';
import { ArchiveApi } from '../../../src/page/model/archive-api.ts';
import { checkBlob } from '../../../src/page/model/check-blob.ts';
import type { Found } from '../../../src/page/model/look-up.ts';
import type { BlobRecord, RecordOccurrence } from '../../../src/page/model/record.ts';
import {
  encodeOccurrenceRecord,
  makeOccurrenceRecord,
  type OccurrenceRecord,
  occurrencesOf,
  parseBlockHash,
  parseBlockHex,
  parseTxId,
} from '../../../src/verify/index.ts';
import { doubleSha } from '../../verify/craft.ts';
import { craftMerged, mineHeader } from '../../verify/craft-merge-mining.ts';
import { mergedBlocks } from '../../verify/recorded-merge-mining.ts';

const [, , , last] = mergedBlocks;
if (last?.blob === undefined) throw new Error('The fourth carries a blob.');
const BYTES = Buffer.from(last.blob.data, 'hex');
const block = parseBlockHex(last.block);
const [occurrence] = occurrencesOf(block).occurrences;
if (occurrence === undefined) throw new Error('It carries one.');
const RECORD = makeOccurrenceRecord(block, occurrence, { size: BYTES.length, height: last.height });
const NAME = { versionHash: RECORD.versionHash, hashType: null };
const MERKLE_ROOT = Buffer.from(RECORD.header, 'hex').subarray(36, 68);

async function check(...records: readonly OccurrenceRecord[]) {
  return await checkFor({ txid: null, record: null }, records);
}

async function checkFor(asked: Omit<Found, 'name'>, records: readonly OccurrenceRecord[]) {
  const answer = { records: records.map((one): unknown => JSON.parse(encodeOccurrenceRecord(one))) };
  const api = new ArchiveApi(
    '',
    () => null,
    async (url) => (url.endsWith('/proof') ? Response.json(answer) : new Response(BYTES)),
  );
  return await checkBlob({ name: NAME, ...asked }, api, new AbortController().signal);
}

/** Moves a proof under another header, with or without merge-mining data. */
function under(header: Buffer): OccurrenceRecord {
  const blockHash = parseBlockHash(doubleSha(header.subarray(0, 80)).reverse().toString('hex'));
  const merkleProof = `${header.toString('hex')}${RECORD.merkleProof.slice(RECORD.header.length)}`;
  return { ...RECORD, header: header.toString('hex'), blockHash, merkleProof };
}

describe('the work of a proof in the browser', () => {
  test('work on regtest is shown as the little that it is, and is not called verified', async () => {
    const checked = await check(RECORD);
    expect(checked).toMatchObject({ outcome: 'verified', level: 'inclusion' });
    expect(checked.steps[1]?.says).toContain(
      'takes work of 2^1 hashes, which any computer does in seconds, by the rules of regtest.',
    );
  });

  test('a header without the work of any network is not verified', async () => {
    const other = craftMerged({ merkleRoot: MERKLE_ROOT, version: 0x20090100, chainId: 9 });
    expect(await check(under(other.whole))).toMatchObject({ outcome: 'not-verified', level: null });
  });

  test.each<[string, Buffer, string]>([
    [
      'a target that the header does not meet',
      mineHeader({ merkleRoot: MERKLE_ROOT, bits: 0x1701f303 }),
      'above the target',
    ],
    [
      'a parent that does not commit to it',
      craftMerged({ merkleRoot: MERKLE_ROOT }, () => ({ root: Buffer.alloc(32) })).whole,
      'does not commit',
    ],
    ['a target that is none', mineHeader({ merkleRoot: MERKLE_ROOT, bits: 0 }), 'is zero'],
  ])('a header that no network accepts is not verified: %s', async (_, header, sentence) => {
    const checked = await check(RECORD, under(header));
    expect(checked).toMatchObject({ outcome: 'not-verified', level: null });
    expect(checked.steps.map(({ outcome }) => outcome)).toEqual(['verified', 'verified', 'not-verified']);
    expect(checked.steps[2]?.says).toContain(sentence);
  });

  test('a header without its merge-mining data shows inclusion, and says that it shows no work', async () => {
    const checked = await check(under(Buffer.from(RECORD.header, 'hex').subarray(0, 80)));
    expect(checked).toMatchObject({ outcome: 'verified', level: 'inclusion' });
    expect(checked.steps[1]?.says).toContain('came without the data that show its work');
  });
});

describe('the proof of the transaction that was asked for', () => {
  const txidOf = (number: number) => parseTxId(number.toString(16).padStart(64, '0'));
  const ASKED = txidOf(0xa5);
  /** A claim of the archive about the blob, and about the transaction where it has a state. */
  const claimed = (state: RecordOccurrence['state'] | null, hasMoreOccurrences = false): BlobRecord => ({
    ...{ versionHash: NAME.versionHash, hashType: null, state: 'stored', publicReason: null, rule: null },
    ...{ sizeBytes: BYTES.length, seenAt: '', spooledAt: null, storedAt: null, replicas: [], lastFailure: null },
    occurrences: state === null ? [] : [{ state, txid: ASKED, vout: 0, height: 9, blockHash: null }],
    hasMoreOccurrences,
  });
  const proofs = (count: number) => Array.from({ length: count }, (_, at) => ({ ...RECORD, txid: txidOf(at) }));

  test.each([
    ['mined', 'pending'],
    ['unconfirmed', 'pending'],
    ['final', 'not-verified'],
    ['unknown', 'not-verified'],
    [null, 'not-verified'],
  ] as const)('is missing, and the archive calls it %s: %s', async (state, outcome) => {
    const checked = await checkFor({ txid: ASKED, record: claimed(state) }, [RECORD]);
    expect(checked).toMatchObject({ outcome, level: null });
    expect(checked.steps.map((step) => step.outcome)).toEqual(['verified', 'verified', outcome]);
  });

  test('is missing where the archive keeps no record: not verified', async () => {
    expect(await checkFor({ txid: ASKED, record: null }, [RECORD])).toMatchObject({ outcome: 'not-verified' });
  });

  test('is missing behind sixteen others: pending, and a wrong proof among those is not verified', async () => {
    const last = async (count: number, hasMore: boolean) => {
      const { outcome, steps } = await checkFor({ txid: ASKED, record: claimed(null, hasMore) }, proofs(count));
      return [outcome, steps.at(-1)?.outcome];
    };
    expect(await last(16, true)).toEqual(['not-verified', 'pending']);
    expect(await last(16, false)).toEqual(['not-verified', 'not-verified']);
    expect(await last(15, true)).toEqual(['not-verified', 'not-verified']);
  });
});
