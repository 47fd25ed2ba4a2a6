import { expect, test } from 'vitest';
import type { BlockRow } from '../../src/catalog/block-table.ts';
import { relationTo } from '../../src/chain/fork.ts';
import { type BlockHash, parseBlockHash } from '../../src/core/blob/ids.ts';
import { NEVER } from '../sample-blobs.ts';

const LOWEST = 50;
const TIP = 110;
const ours = (height: number) => parseBlockHash(height.toString(16).padStart(64, '0'));
const theirs = (height: number) => parseBlockHash(`b${height.toString(16).padStart(63, '0')}`);

function row(height: number): BlockRow {
  const times = { timeSeconds: height, medianTimeSeconds: height };
  return { height, hash: ours(height), previousHash: ours(height - 1), ...times };
}

const chain = {
  state: { startHeight: LOWEST, lowestHeight: LOWEST, tip: row(TIP), finalHeight: null },
  blockAt: (height: number) => (height >= LOWEST && height <= TIP ? row(height) : null),
};

/**
 * A node whose branch leaves the followed one above `common` and ends at `end`; each question may meet another branch.
 */
function relation(branchAt: (question: number) => { common: number; end: number }) {
  let questions = 0;
  const blockHashAt = async (height: number): Promise<BlockHash | null> => {
    questions += 1;
    const { common, end } = branchAt(questions);
    if (height > end) return null;
    return height <= common ? ours(height) : theirs(height);
  };
  return relationTo({ blockHashAt }, chain, NEVER);
}

test.each([
  [{ common: TIP, end: 120 }, { kind: 'extends' }],
  [
    { common: TIP, end: 100 },
    { kind: 'behind', height: 100 },
  ],
  [
    { common: 100, end: 120 },
    { kind: 'forked', lastCommonHeight: 100 },
  ],
  [
    { common: 100, end: 105 },
    { kind: 'forked', lastCommonHeight: 100 },
  ],
  [
    { common: TIP - 1, end: TIP },
    { kind: 'forked', lastCommonHeight: TIP - 1 },
  ],
  [
    { common: LOWEST, end: 120 },
    { kind: 'forked', lastCommonHeight: LOWEST },
  ],
  [
    { common: 20, end: 120 },
    { kind: 'forked', lastCommonHeight: LOWEST - 1 },
  ],
])('a node with the branch %j has the relation %j', async (branch, expected) => {
  expect(await relation(() => branch)).toEqual(expected);
});

test('a node that returns to the followed branch during the comparison causes no rollback, at any moment', async () => {
  for (let after = 1; after < 30; after += 1) {
    const found = await relation((question) => ({ common: question <= after ? 80 : TIP, end: 120 })).catch(
      (error: unknown) => error,
    );
    // The return is detected before the last question; after it, the node was on the other branch to the end.
    expect([{ code: 'chain/branch-moved' }, { kind: 'forked', lastCommonHeight: 80 }]).toContainEqual(
      found instanceof Error && 'code' in found ? { code: found.code } : found,
    );
  }
});
