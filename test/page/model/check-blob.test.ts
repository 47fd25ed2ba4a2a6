import { describe, expect, test } from 'vitest';
import { ArchiveApi } from '../../../src/page/model/archive-api.ts';
import { checkBlob } from '../../../src/page/model/check-blob.ts';
import {
  encodeOccurrenceRecord,
  makeOccurrenceRecord,
  type OccurrenceRecord,
  occurrencesOf,
  parseBlockHash,
  parseBlockHex,
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
  const answer = { records: records.map((one): unknown => JSON.parse(encodeOccurrenceRecord(one))) };
  const api = new ArchiveApi(
    '',
    () => null,
    async (url) => (url.endsWith('/proof') ? Response.json(answer) : new Response(BYTES)),
  );
  return await checkBlob({ name: NAME, txid: null, record: null }, api, new AbortController().signal);
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
