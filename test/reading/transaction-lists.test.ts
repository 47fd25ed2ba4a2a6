import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { parseBlockHash, parseTxId, type VersionHash } from '../../src/core/blob/ids.ts';
import { TransactionLists } from '../../src/reading/questions/transaction-lists.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';

const sha = (text: string) => createHash('sha256').update(text).digest('hex');
const hashOf = (label: string) => nameOf(sampleBlob(label, 10)).versionHash;

test.each([1, 3])(
  'questions of one list of %s nodes look its contents up once, until the list or the tip is another',
  async (nodes) => {
    const mined = new Set<VersionHash>(['a', 'b', 'c'].map(hashOf));
    const chain = { lookUps: 0, tip: 'block 100' };
    let listed = new Set(mined);
    let byHash = entriesOf(listed);
    const read = async () => ({ byHash, transactions: new Set<never>(), silent: [] });
    const lists = new TransactionLists(
      {
        isTransactionListed: () => false,
        readAgain: async () => true,
        get listedUnnamed() {
          return listed;
        },
      },
      { isOfSeveral: nodes > 1, read },
      {
        firstHeight: ({ versionHash }) => {
          chain.lookUps += 1;
          return mined.has(versionHash) ? 100 : null;
        },
        get state() {
          const hash = parseBlockHash(sha(chain.tip));
          const tip = { hash, previousHash: hash, height: 100, timeSeconds: 1, medianTimeSeconds: 1 };
          return { tip, startHeight: 0, lowestHeight: 0, finalHeight: null };
        },
      },
    );
    const asked = async () => {
      chain.lookUps = 0;
      const answers = await Promise.all([1, 2, 3, 4].map(() => lists.of(parseTxId(sha('none')), false, NEVER)));
      return [new Set(answers.map(({ isAnyUnnamed }) => isAnyUnnamed)), chain.lookUps];
    };
    expect(await asked()).toEqual([new Set([false]), 3]);
    expect(await asked()).toEqual([new Set([false]), 0]);
    chain.tip = 'block 101';
    expect(await asked()).toEqual([new Set([false]), 3]);
    // The node names one more; a list of several nodes is read as a whole.
    listed.add(hashOf('waiting'));
    if (nodes > 1) byHash = entriesOf(listed);
    expect((await asked())[0]).toEqual(new Set([true]));
    listed = new Set(mined);
    byHash = entriesOf(listed);
    expect(await asked()).toEqual([new Set([false]), 3]);
  },
);

function entriesOf(listed: ReadonlySet<VersionHash>) {
  const entry = { sizeBytes: 10, txid: null, medianTimeSeconds: 1 };
  return new Map([...listed].map((versionHash) => [versionHash, { ...entry, versionHash }]));
}
