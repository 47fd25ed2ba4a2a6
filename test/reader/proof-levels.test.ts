import { describe, expect, test } from 'vitest';
import { createArchiveReader, type ProofOptions, ReaderError } from '../../src/reader/index.ts';
import {
  CHAIN_PROFILES,
  checkHeaderRun,
  encodeOccurrenceRecord,
  makeOccurrenceRecord,
  type OccurrenceRecord,
  occurrencesOf,
  parseBlockHash,
  parseBlockHex,
  parseHeaderHex,
} from '../../src/verify/index.ts';
import { mergedBlocks } from '../verify/recorded-merge-mining.ts';
import { fakeSource, gives } from './fake-source.ts';

const { regtest } = CHAIN_PROFILES;
const [first, , , last] = mergedBlocks;
if (first === undefined || last?.blob === undefined) throw new Error('The fourth carries a blob.');
const BYTES = Buffer.from(last.blob.data, 'hex');
const block = parseBlockHex(last.block);
const [occurrence] = occurrencesOf(block).occurrences;
if (occurrence === undefined) throw new Error('It carries one.');
const RECORD = makeOccurrenceRecord(block, occurrence, { size: BYTES.length, height: last.height });
/**
 * A header without work: the nonce of the parent (the last four bytes) is changed until the hash exceeds the target.
 */
const WITHOUT_WORK = { ...RECORD, header: withoutWork(RECORD.header) };
const CHECKPOINT = { height: first.height - 1, blockHash: parseBlockHash(first.previousHash) };
const RUN = checkHeaderRun(
  mergedBlocks.map(({ header }) => parseHeaderHex(header)),
  { checkpoint: CHECKPOINT, profile: regtest, leastWork: 2n },
);

async function ask(records: readonly OccurrenceRecord[], options: ProofOptions) {
  const body = JSON.stringify({ records: records.map((one): unknown => JSON.parse(encodeOccurrenceRecord(one))) });
  const { url } = await fakeSource(gives(body));
  const reader = createArchiveReader({ sources: [{ kind: 'holdfast', url }] });
  try {
    const proofs = await reader.proofs(RECORD.versionHash, options);
    return { proofs, answers: [], isSuspect: (await reader.status())[0]?.suspect };
  } catch (error) {
    if (!(error instanceof ReaderError)) throw error;
    return { proofs: null, answers: error.answers, isSuspect: (await reader.status())[0]?.suspect };
  }
}

describe('proofs at a level', () => {
  test.each<[string, ProofOptions]>([
    ['inclusion, when nothing else is asked for', { bytes: BYTES }],
    ['inclusion, without bytes', {}],
    ['work, by the rules of the network that is named', { level: 'work', profile: regtest }],
    ['chain, by a run of headers', { level: 'chain', profile: regtest, headers: RUN, bytes: BYTES }],
  ])('%s', async (_, options) => {
    expect(await ask([RECORD], options)).toMatchObject({ proofs: [{ blockHash: RECORD.blockHash }], isSuspect: false });
  });

  test.each<[string, ProofOptions, string]>([
    ['the work of the main network', { level: 'work' }, 'no header of main takes so little'],
    ['more work than there is', { level: 'work', profile: regtest, leastWork: 8n }, 'at least work of 2^3 hashes'],
    ['the chain without headers', { level: 'chain', profile: regtest }, 'no run of headers was given'],
  ])('an honest proof that does not show %s is no lie, and the reader keeps it back', async (_, options, says) => {
    const { proofs, answers, isSuspect } = await ask([RECORD], options);
    expect([proofs, isSuspect]).toEqual([null, false]);
    expect(answers).toMatchObject([{ outcome: 'no-answer', says: expect.stringContaining(says) }]);
  });

  test('a proof under a header without work is a lie when work is required', async () => {
    expect(await ask([WITHOUT_WORK], {})).toMatchObject({ proofs: [{ txid: RECORD.txid }] });
    const { proofs, answers, isSuspect } = await ask([WITHOUT_WORK], { level: 'work', profile: regtest });
    expect([proofs, isSuspect]).toEqual([null, true]);
    expect(answers).toMatchObject([{ outcome: 'lied', says: expect.stringContaining('is above the target') }]);
  });

  test('a proof of a block outside the run of headers is a lie when the chain is required', async () => {
    const options: ProofOptions = { level: 'chain', profile: regtest, headers: RUN };
    const { answers } = await ask([{ ...RECORD, height: RECORD.height - 1 }], options);
    expect(answers).toMatchObject([{ outcome: 'lied', says: expect.stringContaining('the record says 123') }]);
  });
});

function withoutWork(header: string): string {
  const bytes = Buffer.from(header, 'hex');
  for (let nonce = 0; ; nonce += 1) {
    bytes.writeUInt32LE(nonce, bytes.length - 4);
    const parent = parseHeaderHex(bytes.subarray(-80).toString('hex')).header;
    if (BigInt(`0x${parent.hash}`) >> 255n === 1n) return bytes.toString('hex');
  }
}
