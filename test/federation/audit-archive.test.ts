import { describe, expect, test } from 'vitest';
import { type BlockHash, parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import {
  type AuditedArchive,
  auditArchive,
  type BlobAnswer,
  drawOccurrences,
} from '../../src/federation/audit-archive.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { encodeOccurrenceRecord, makeOccurrenceRecord, occurrencesOf, parseBlockHex } from '../../src/verify/index.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
import { blobs, blockOf, bytesOf } from '../verify/recorded-chain.ts';

/** The same numbers every time. */
function numbers(): (below: number) => number {
  let state = 7;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

/** One block with one blob, one with 32, and one with none. */
const COUNTS = [1, 32, 0];
const BLOCKS = COUNTS.map((count, index) => {
  const txid = parseTxId(String(10 + index).padStart(64, '0'));
  const occurrences = Array.from({ length: count }, (_, vout) => {
    const { hashType, versionHash } = sampleBlob(`audited ${index} ${vout}`, 30);
    return { hashType, versionHash, txid, vout };
  });
  return { hash: parseBlockHash(String(10 + index).padStart(64, 'a')), occurrences };
});
const chain = {
  asked: new Set<number>(),
  async blockAt(height: number) {
    this.asked.add(height);
    return BLOCKS[height - 10] ?? null;
  },
};

test('each occurrence is drawn as often as any other, however many its block has', async () => {
  const drawn = await drawOccurrences(chain, { range: { from: 10, to: 12 }, samples: 6_600, random: numbers() }, NEVER);
  const counts = new Map<string, number>();
  for (const { height, vout } of drawn) counts.set(`${height}/${vout}`, (counts.get(`${height}/${vout}`) ?? 0) + 1);
  expect([drawn.length, counts.size]).toEqual([6_600, 33]);
  // 200 each: five standard deviations.
  for (const count of counts.values()) expect(Math.abs(count - 200)).toBeLessThan(70);
  expect(chain.asked).toEqual(new Set([10, 11, 12]));
});

test('a range without occurrences gives none, after so many draws', async () => {
  expect(await drawOccurrences(chain, { range: { from: 12, to: 12 }, samples: 3, random: numbers() }, NEVER)).toEqual(
    [],
  );
});

test('draws from a chain that answers at once let others work meanwhile, and end when they are told to', async () => {
  const drawing = new AbortController();
  setImmediate(() => drawing.abort(new Error('it stops')));
  const range = { from: 12, to: 12 };
  const drawn = drawOccurrences(chain, { range, samples: 3, random: numbers() }, drawing.signal);
  await expect(drawn).rejects.toThrow('it stops');
});

describe('an answer of an archive', () => {
  const blob = sampleBlob('audited', 40);
  const { hashType, versionHash } = blob;
  const hash = parseBlockHash('ab'.repeat(32));
  const drawn = [{ hashType, versionHash, txid: parseTxId('cd'.repeat(32)), vout: 0, height: 10, blockHash: hash }];
  const audited = async (answer: BlobAnswer | Error, proofs: AuditedArchive['proofs'] = async () => null) => {
    const archive = {
      blob: async () => {
        if (answer instanceof Error) throw answer;
        return answer;
      },
      proofs,
    };
    const hashAt = async () => null;
    const how = { range: { from: 10, to: 10 }, hasher: nobleHasher, hashAt, steadyMs: () => 0 };
    return await auditArchive(drawn, archive, how, NEVER);
  };

  const NOTHING = [['absent'], ['withheld'], ['not-archived-by-rule'], ['wrong-bytes']] as const;
  test.each(NOTHING)('%s is counted, and listed', async (kind) => {
    const found = await audited({ kind });
    expect(found).toMatchObject({ samples: 1, heldAtLeast: 0, failures: [{ versionHash, outcome: kind }] });
    expect(found.outcomes[kind]).toBe(1);
  });

  test('a fault is no absence, and bytes without a proof that holds are not good', async () => {
    expect((await audited(new Error('away'))).outcomes).toMatchObject({ 'no-answer': 1, absent: 0 });
    const right = { kind: 'bytes', bytes: blob.bytes } as const;
    for (const records of [null, [], [7], [{ version: 1 }]])
      expect((await audited(right, async () => records)).outcomes['no-proof']).toBe(1);
  });
});

describe('content that is on chain more often than an answer has records', () => {
  const [blob] = blobs;
  if (blob === undefined) throw new Error('There are recorded blobs.');
  const { view, hex } = blockOf(blob.txid);
  const block = parseBlockHex(hex);
  const [occurrence] = occurrencesOf(block).occurrences.filter(({ txid }) => txid === blob.txid);
  if (occurrence === undefined) throw new Error('It is in its block.');
  const record = JSON.parse(
    encodeOccurrenceRecord(makeOccurrenceRecord(block, occurrence, { size: blob.size, height: view.height })),
  );
  const { hashType, versionHash } = occurrence;
  const later = {
    ...{ hashType, versionHash, txid: parseTxId('cd'.repeat(32)), vout: 0 },
    ...{ height: view.height + 1, blockHash: parseBlockHash('ab'.repeat(32)) },
  };
  const bytes = bytesOf(blob);
  const archive: AuditedArchive = {
    blob: async () => ({ kind: 'bytes', bytes }),
    proofs: async () => Array.from({ length: 16 }, () => record),
  };
  const audited = async (hashThere: BlockHash) => {
    const range = { from: view.height, to: view.height + 1 };
    const hashAt = async (height: number) => (height === view.height ? hashThere : null);
    const { outcomes } = await auditArchive(
      [later],
      archive,
      { range, hasher: nobleHasher, hashAt, steadyMs: () => 0 },
      NEVER,
    );
    return outcomes;
  };

  test('is proven by an earlier one of it', async () => {
    expect(await audited(parseBlockHash(view.hash))).toMatchObject({ good: 1 });
  });

  test('is not proven by a forged header: the chain has another block there', async () => {
    expect(await audited(parseBlockHash('ef'.repeat(32)))).toMatchObject({ good: 0, 'no-proof': 1 });
  });
});
