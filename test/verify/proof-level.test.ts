import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseBlockHash } from '../../src/core/blob/ids.ts';
import {
  CHAIN_PROFILES,
  checkHeaderRun,
  type HeaderRun,
  type HeaderRunRules,
  judgeRun,
  judgeWork,
  log2Of,
  makeOccurrenceRecord,
  type OccurrenceRecord,
  occurrencesOf,
  PROOF_LEVELS,
  parseBlockHex,
  parseCheckpoint,
  parseHeader,
  parseHeaderHex,
  parseHeaderLines,
  reachedLevel,
  VerifyError,
  verifyProof,
  workInWords,
} from '../../src/verify/index.ts';
import { doubleSha } from './craft.ts';
import { craftMerged, mineHeader } from './craft-merge-mining.ts';
import { mergedBlocks } from './recorded-merge-mining.ts';

const { main, regtest } = CHAIN_PROFILES;
const [first, , , last] = mergedBlocks;
if (first === undefined || last?.blob === undefined) throw new Error('The fourth carries a blob.');
const BYTES = Buffer.from(last.blob.data, 'hex');
const CHECKPOINT = { height: first.height - 1, blockHash: parseBlockHash(first.previousHash) };
const RULES: HeaderRunRules = { checkpoint: CHECKPOINT, profile: regtest, leastWork: regtest.leastWork };
const HEADERS = mergedBlocks.map(({ header }) => parseHeaderHex(header));
const RUN = checkHeaderRun(HEADERS, RULES);
const RECORD = recordedProof();

function recordedProof(): OccurrenceRecord {
  const block = parseBlockHex(last?.block ?? '');
  const [occurrence] = occurrencesOf(block).occurrences;
  if (occurrence === undefined) throw new Error('It carries one.');
  return makeOccurrenceRecord(block, occurrence, { size: BYTES.length, height: last?.height ?? 0 });
}

function codeOf(check: () => unknown): string {
  try {
    check();
    return 'accepted';
  } catch (error) {
    if (error instanceof VerifyError) return error.code;
    throw error;
  }
}

/** A proof whose header is anybody's: the record of the fourth block under a header made at home. */
function forged(header: Buffer): OccurrenceRecord {
  return {
    ...RECORD,
    header: header.toString('hex'),
    blockHash: parseBlockHash(doubleSha(header.subarray(0, 80)).reverse().toString('hex')),
  };
}

describe('the levels of a recorded proof', () => {
  test('the record that is made of the block has the proof that the node gave', () => {
    expect(RECORD.merkleProof).toBe(last.proof);
    expect(RECORD.header).toBe(last.header);
  });

  test('without more it is shown to be included, and no more is called verified', () => {
    const verdict = verifyProof(BYTES, RECORD);
    expect(verdict).toMatchObject({ level: 'inclusion', verified: true, reached: 'inclusion', run: null });
    expect(verdict.says).toContain('Only a node can tell');
  });

  test('trivial work is reported as such, and does not pass for the work of the main network', () => {
    const verdict = verifyProof(BYTES, RECORD, { level: 'work' });
    expect(verdict).toMatchObject({ verified: false, reached: 'inclusion' });
    expect(verdict.work).toMatchObject({ kind: 'too-little', code: 'verify/target-too-easy', hashes: 2n });
    expect(verdict.says).toBe(
      `Making header ${RECORD.blockHash} takes work of 2^1 hashes, which any computer does in seconds; no header of main takes so little.`,
    );
  });

  test('regtest rules allow the level work, with a least work of two hashes', () => {
    expect(verifyProof(BYTES, RECORD, { level: 'work', profile: regtest })).toMatchObject({
      verified: true,
      reached: 'work',
      work: { kind: 'enough', hashes: 2n, leastWork: 2n },
    });
    const asked = verifyProof(BYTES, RECORD, { level: 'work', profile: regtest, leastWork: 3n });
    expect(asked).toMatchObject({ verified: false, work: { kind: 'too-little', code: 'verify/work-too-little' } });
  });

  test('the level chain takes a run of headers', () => {
    const without = verifyProof(BYTES, RECORD, { level: 'chain', profile: regtest });
    expect(without).toMatchObject({ verified: false, reached: 'work' });
    expect(without.says).toContain('No run of headers was given');
    const verdict = verifyProof(BYTES, RECORD, { level: 'chain', profile: regtest, headers: RUN });
    expect(verdict).toMatchObject({ verified: true, reached: 'chain', run: { kind: 'contains', hashes: 2n } });
    expect(verdict.says).toContain(`at height ${RECORD.height} of the headers from the checkpoint at height 120 on`);
    expect(verdict.says).toContain('a day of this chain at that time is work of 2^');
  });

  test('each level holds only with all before it', () => {
    const broken = verifyProof(Buffer.from('other bytes'), RECORD, { level: 'chain', profile: regtest, headers: RUN });
    expect(broken).toMatchObject({ verified: false, reached: null });
    expect(broken.says).toContain('The file has 11 bytes');
    expect(verifyProof(BYTES, RECORD, { level: 'chain', headers: RUN })).toMatchObject({
      verified: false,
      reached: 'inclusion',
    });
    expect(PROOF_LEVELS).toEqual(['inclusion', 'work', 'chain']);
  });

  test('a header of one’s own making, with the Merkle root that it wants, has no work to show', () => {
    const merkleRoot = Buffer.from(RECORD.header, 'hex').subarray(36, 68);
    const lazy = mineHeader({ merkleRoot, bits: 0x1701f303 });
    expect(judgeWork(forged(lazy))).toMatchObject({ kind: 'refused', code: 'verify/work-insufficient' });
    const easy = mineHeader({ merkleRoot });
    expect(judgeWork(forged(easy))).toMatchObject({ kind: 'too-little', code: 'verify/target-too-easy' });
    const merged = craftMerged({ merkleRoot, bits: 0x1701f303 }).whole;
    expect(judgeWork(forged(merged))).toMatchObject({ kind: 'refused', code: 'verify/work-insufficient' });
    expect(judgeWork(forged(merged.subarray(0, 80)))).toMatchObject({ code: 'verify/merge-mining-missing' });
    expect(judgeWork({ ...RECORD, header: 'zz' })).toMatchObject({ kind: 'refused', code: 'verify/malformed' });
  });

  test('a header that is not merge-mined may be of another chain: its work does not count for main until the chain is shown', () => {
    // Origin: the first header of Bitcoin. Its work is real, and every payer of a transaction there gets such a header.
    const bitcoin = Buffer.from(
      `01000000${'0'.repeat(64)}3ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c`,
      'hex',
    );
    const leastWork = 1n << 32n;
    const work = judgeWork(forged(bitcoin), { leastWork });
    expect(work).toMatchObject({ kind: 'unbound', code: 'verify/work-unbound', hashes: 4_295_032_833n });
    expect(judgeWork(forged(bitcoin))).toMatchObject({ kind: 'too-little', code: 'verify/work-too-little' });
    expect([reachedLevel(true, work, false), reachedLevel(true, work, true)]).toEqual(['inclusion', 'chain']);
  });

  test('work is told as a power of two', () => {
    expect(workInWords(2n)).toBe('work of 2^1 hashes, which any computer does in seconds');
    expect(workInWords(1n << 68n)).toBe('work of 2^68 hashes');
    expect(workInWords(3n << 70n)).toBe('work of 2^71.6 hashes');
    fc.assert(fc.property(fc.integer({ min: 1, max: 255 }), (power) => log2Of(1n << BigInt(power)) === power));
    expect(main.leastWork).toBe(1n << 68n);
  });
});

describe('a run of headers', () => {
  const run = (headers: typeof HEADERS, rules: Partial<HeaderRunRules> = {}) =>
    codeOf(() => checkHeaderRun(headers, { ...RULES, ...rules }));

  test('begins after the checkpoint, or at it', () => {
    expect([RUN.firstHeight, RUN.lastHeight]).toEqual([121, 124]);
    const [at] = HEADERS;
    if (at === undefined) throw new Error('There are four.');
    const begun = checkHeaderRun(HEADERS, { ...RULES, checkpoint: { height: 121, blockHash: at.header.hash } });
    expect([begun.firstHeight, begun.lastHeight]).toEqual([121, 124]);
    expect(begun.placeOf(at.header.hash)).toMatchObject({ height: 121, workOnTop: 6n });
  });

  test.each<[string, typeof HEADERS, Partial<HeaderRunRules>, string]>([
    ['no header', [], {}, 'verify/header-run'],
    [
      'another checkpoint',
      HEADERS,
      { checkpoint: { ...CHECKPOINT, blockHash: parseBlockHash('0'.repeat(64)) } },
      'verify/checkpoint',
    ],
    ['a header left out at the beginning', HEADERS.slice(1), {}, 'verify/checkpoint'],
    ['a header left out', HEADERS.filter((_, index) => index !== 2), {}, 'verify/header-link'],
    ['a header twice', HEADERS.toSpliced(1, 0, ...HEADERS.slice(0, 1)), {}, 'verify/header-link'],
    ['the headers backwards', HEADERS.toReversed(), {}, 'verify/checkpoint'],
    ['more work asked for', HEADERS, { leastWork: 3n }, 'verify/work-too-little'],
    ['the rules of another network', HEADERS, { profile: main }, 'verify/target-too-easy'],
    [
      'a header without its merge-mining data',
      HEADERS.map(({ header }) => parseHeader(header.raw)),
      {},
      'verify/merge-mining-missing',
    ],
  ])('is refused: %s', (_, headers, rules, code) => expect(run(headers, rules)).toBe(code));

  test('one header without work ends it, and its height is told', () => {
    const previous = Buffer.from(CHECKPOINT.blockHash, 'hex').reverse();
    const good = mineHeader({ previous });
    const bad = mineHeader({ previous: doubleSha(good) }, { meetsTarget: false });
    const headers = [good, bad].map((bytes) => parseHeader(bytes));
    expect(run(headers.slice(0, 1))).toBe('accepted');
    expect(() => checkHeaderRun(headers, RULES)).toThrow(/The header at height 122 of the run does not count/);
  });

  test('says what it contains, and not what it does not reach', () => {
    const blockHash = parseBlockHash('ab'.repeat(32));
    expect(judgeRun(RECORD, RUN)).toMatchObject({ kind: 'contains' });
    expect(judgeRun({ ...RECORD, height: 123 }, RUN)).toMatchObject({ kind: 'does-not-contain' });
    expect(judgeRun({ blockHash, height: 122 }, RUN)).toMatchObject({ kind: 'does-not-contain', hashes: null });
    for (const height of [120, 125])
      expect(judgeRun({ blockHash, height }, RUN)).toMatchObject({ kind: 'cannot-tell' });
  });

  test('a day’s work is taken from the clocks of the headers around the block', () => {
    const spaced = minedRun(1_000, 150);
    const place = spaced.run.placeOf(spaced.hashes[500] ?? CHECKPOINT.blockHash);
    expect(place).toEqual({ height: 621, workOnTop: 1_000n, workADay: 1_152n });
    const still = minedRun(5, 0);
    expect(still.run.placeOf(still.hashes[2] ?? CHECKPOINT.blockHash)?.workADay).toBeNull();
  });

  test('any run that a miner makes holds, and none holds with a header changed, left out or moved', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 12 }), fc.nat(), fc.nat(), (length, at, to) => {
        const { bytes, run: mined } = minedRun(length, 1);
        expect(mined.lastHeight).toBe(120 + length);
        const [index, target] = [at % (length - 1), to % length];
        const moved = bytes.toSpliced(index, 1);
        expect(run(moved.map((one) => parseHeader(one)))).not.toBe('accepted');
        if (target !== index) {
          moved.splice(target, 0, bytes[index] ?? Buffer.alloc(0));
          expect(run(moved.map((one) => parseHeader(one)))).not.toBe('accepted');
        }
        const changed = bytes.map((one) => Buffer.from(one));
        changed[index]?.writeUInt8((changed[index]?.readUInt8(40) ?? 0) ^ 1, 40);
        expect(run(changed.map((one) => parseHeader(one)))).not.toBe('accepted');
      }),
      { numRuns: 50 },
    );
  });
});

describe('the text of a run', () => {
  test('has a header a line, whatever ends the lines', () => {
    const text = mergedBlocks.map(({ header }) => header);
    for (const end of ['\n', '\r\n', '\n\n']) expect(parseHeaderLines(text.join(end))).toEqual(HEADERS);
    expect(parseHeaderLines('\n \n')).toEqual([]);
  });

  test('a line that is no header is named', () => {
    const text = `${first.header}\n\n${first.header.slice(2)}\n`;
    expect(() => parseHeaderLines(text)).toThrow(/^Line 3 is no block header: /);
  });

  test('any text is read or refused with the one code', () => {
    const line = fc.oneof(
      fc.string(),
      fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), maxLength: 400 }),
      fc.constant(first.header),
    );
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        expect(['accepted', 'verify/header-run']).toContain(codeOf(() => parseHeaderLines(lines.join('\n'))));
      }),
      { numRuns: 1_000 },
    );
  });

  test('a checkpoint is a height and a block hash', () => {
    const hash = 'AB'.repeat(32);
    expect(parseCheckpoint(` 12:0x${hash}\n`)).toEqual({ height: 12, blockHash: hash.toLowerCase() });
    for (const text of [
      '',
      hash,
      `:${hash}`,
      `-1:${hash}`,
      `1.5:${hash}`,
      `9999999999:${hash}`,
      `1:${hash}00`,
      '1:xyz',
    ]) {
      expect(
        codeOf(() => parseCheckpoint(text)),
        text,
      ).toBe('verify/checkpoint');
    }
    fc.assert(
      fc.property(fc.string(), (text) =>
        ['accepted', 'verify/checkpoint'].includes(codeOf(() => parseCheckpoint(text))),
      ),
    );
  });
});

/** Headers that are not merge-mined, mined on top of each other. */
function minedRun(length: number, spacingSeconds: number) {
  const bytes: Buffer[] = [];
  let previous: Buffer = Buffer.from(CHECKPOINT.blockHash, 'hex').reverse();
  for (let index = 0; index < length; index += 1) {
    const header = mineHeader({ previous, time: 1_700_000_000 + index * spacingSeconds });
    bytes.push(header);
    previous = doubleSha(header);
  }
  const headers = bytes.map((one) => parseHeader(one));
  const run: HeaderRun = checkHeaderRun(headers, RULES);
  return { bytes, run, hashes: headers.map(({ header }) => header.hash) };
}
