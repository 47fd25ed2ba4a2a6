import { expect, test } from 'vitest';
import { collectReceipts, ReaderError } from '../../src/reader/index.ts';
import { parseBlockHash, parseTxId, parseVersionHash, type ReceiptStatement } from '../../src/verify/index.ts';
import { SIGNED_AT, signedBy, succession, type TestSigner, testSigner } from '../verify/signers.ts';
import { type Behaviour, fakeSource, gives, problem } from './fake-source.ts';

const NAME = { hashType: 'keccak256', versionHash: parseVersionHash('0a'.repeat(32)) } as const;
const [ONE, TWO, NEXT, STRANGER] = [testSigner(), testSigner(), testSigner(), testSigner()];

function statement(key: string, change: Partial<ReceiptStatement> = {}): ReceiptStatement {
  return {
    ...({ kind: 'holdfast/receipt', format: 1, archiver: 'ab'.repeat(8), key, ...NAME } as const),
    ...({ chain: parseBlockHash('01'.repeat(32)), sizeBytes: 900, state: 'stored-and-final', vout: 1 } as const),
    ...{ txid: parseTxId('02'.repeat(32)), height: 12, blockHash: parseBlockHash('03'.repeat(32)), at: SIGNED_AT },
    ...change,
  };
}

const answered = (by: TestSigner, change: Partial<ReceiptStatement> = {}): Behaviour =>
  gives(JSON.stringify({ ...signedBy(statement(by.key, change), by), keys: [] }));
const NOT_YET = problem(503, 'chain/not-final');

async function archivesWith(...behaviours: readonly Behaviour[]) {
  const sources = await Promise.all(behaviours.map(fakeSource));
  return { sources, archives: sources.map(({ url }) => ({ url })) };
}

test('collecting waits for as many receipts as requested, each of another archiver', async () => {
  const { sources, archives } = await archivesWith(answered(ONE), NOT_YET);
  const keys = [ONE.key, TWO.key];
  const found = await collectReceipts(NAME, {
    ...{ archives, keys, count: 2, pollMs: 1 },
    // The other archive stores it as soon as it was told of once.
    onProgress: ({ archive, outcome }) => {
      const [, late] = sources;
      if (late?.url === archive && outcome === 'waiting') late.behave = answered(TWO);
    },
  });
  expect(found.isEnough).toBe(true);
  expect(found.archives).toMatchObject([{ outcome: 'receipt' }, { outcome: 'receipt' }]);
  expect(sources[0]?.asked).toEqual([`/v1/receipts/${NAME.versionHash}`]);
});

test.each<[string, string, Behaviour]>([
  ['of another blob', 'lied', answered(TWO, { versionHash: parseVersionHash('0b'.repeat(32)) })],
  ['of another hash type', 'lied', answered(TWO, { hashType: 'blake2s256' })],
  ['with a key that is not known', 'lied', answered(STRANGER)],
  ['with a wrong signature', 'lied', gives(JSON.stringify({ ...signedBy(statement(TWO.key), ONE), keys: [] }))],
  ['that is no receipt', 'lied', gives('{"stored":true}')],
  ['of an archiver that has given one', 'same-archiver', answered(ONE)],
  [
    'with the next key of an archiver that has given one',
    'same-archiver',
    gives(JSON.stringify({ ...signedBy(statement(NEXT.key), NEXT), keys: [succession(ONE, NEXT)] })),
  ],
  ['not: it is withheld', 'refused', problem(451, 'blob/withheld')],
  ['not: it is lost', 'refused', problem(410, 'blob/lost')],
])('one %s does not count', async (_says, outcome, behave) => {
  const { archives, sources } = await archivesWith(NOT_YET, behave);
  const [first] = sources;
  const keys = [ONE.key, TWO.key];
  // The first gives its receipt once the second has been judged, and is asked again: the order is always the same.
  let told = 0;
  const found = await collectReceipts(NAME, {
    ...{ archives, keys, count: 2, pollMs: 1 },
    onProgress: ({ archive }) => {
      told += 1;
      if (archive === archives[1]?.url && first !== undefined) first.behave = answered(ONE);
    },
  });
  expect(found.isEnough).toBe(false);
  const [, second] = found.archives;
  if (outcome === 'same-archiver')
    expect(found.archives.map((one) => one.outcome).sort()).toEqual(['receipt', outcome]);
  else expect([found.archives[0]?.outcome, second?.outcome]).toEqual(['receipt', outcome]);
  expect(told).toBeGreaterThanOrEqual(2);
});

test('a receipt that the caller does not confirm does not count, and is requested again', async () => {
  const { archives, sources } = await archivesWith(answered(ONE));
  const looked: number[] = [];
  const found = await collectReceipts(NAME, {
    ...{ archives, count: 1, pollMs: 1 },
    check: async ({ height }) => {
      looked.push(height);
      return looked.length < 3 ? 'The node has another block there.' : null;
    },
  });
  expect([found.isEnough, looked, sources[0]?.asked.length]).toEqual([true, [12, 12, 12], 3]);
});

test('when the time is up, what came is told, with why there is no more', async () => {
  const { archives } = await archivesWith(NOT_YET, problem(404, 'blob/absent'));
  const found = await collectReceipts(NAME, { archives, count: 1, timeoutMs: 300, pollMs: 1 });
  expect(found).toMatchObject({ isEnough: false, archives: [{ outcome: 'waiting' }, { outcome: 'waiting' }] });
});

test.each([
  ['waiting', 503, 'chain/not-final'],
  ['refused', 451, 'blob/withheld'],
])('the words of an archive are shown in one short line: %s', async (outcome, status, code) => {
  const detail = `No.\n\u001b[2Kreceipt  https://another.example\u2028${'x'.repeat(100_000)}`;
  const { archives } = await archivesWith(gives(JSON.stringify({ status, code, detail }), status));
  const stopping = new AbortController();
  const reason = new Error('It was told.');
  const said: string[] = [];
  const ended = collectReceipts(NAME, {
    ...{ archives, count: 1, signal: stopping.signal },
    onProgress: (state) => {
      if (state.outcome === outcome && 'says' in state) said.push(state.says);
      stopping.abort(reason);
    },
  });
  await expect(ended).rejects.toBe(reason);
  const [says = ''] = said;
  expect([says.includes('No.'), says.length <= 500]).toEqual([true, true]);
  expect(says).not.toMatch(/\p{Cc}|\p{Zl}/u);
});

test('an abort ends it with the reason', async () => {
  const { archives } = await archivesWith(NOT_YET);
  const stopping = new AbortController();
  const reason = new Error('stop');
  const ended = collectReceipts(NAME, {
    ...{ archives, count: 1, signal: stopping.signal },
    onProgress: () => stopping.abort(reason),
  });
  await expect(ended).rejects.toBe(reason);
});

test('more receipts than archives are refused before anybody is asked', async () => {
  const { archives, sources } = await archivesWith(NOT_YET);
  await expect(collectReceipts(NAME, { archives, count: 2 })).rejects.toThrow(ReaderError);
  await expect(collectReceipts(NAME, { archives, count: 0 })).rejects.toThrow(ReaderError);
  expect(sources[0]?.asked).toEqual([]);
});
