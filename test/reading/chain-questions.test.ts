import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  type BlockHash,
  type ContentName,
  parseBlockHash,
  parseTxId,
  type VersionHash,
} from '../../src/core/blob/ids.ts';
import { NodeRpcError } from '../../src/node/errors.ts';
import type { ChainQuestions } from '../../src/reading/chain-questions.ts';
import { recordedLoss } from '../../src/reading/recorded-loss.ts';
import type { NotCurrent } from '../../src/view/chain-state.ts';
import { type CatalogSetup, openCatalog, spooled } from '../catalog/catalog-in-folder.ts';
import { NEVER } from '../sample-blobs.ts';
import { questionsOf } from './questions-of.ts';

const sha = (text: string) => createHash('sha256').update(text).digest('hex');
const hashAt = (height: number) => parseBlockHash(sha(`block ${height}`));
const NOW = 1_767_225_600_000;

function scene(setup: CatalogSetup = {}) {
  const catalog = openCatalog(setup);
  const now = { isDone: true, list: true, walk: true, why: 'walk-behind' as NotCurrent, conflict: false, ms: NOW };
  catalog.chain.recordStart(100);
  catalog.chain.useFinality('chainlock');
  const unnamed = new Set<VersionHash>();
  /** Heights of the blocks that the node knows; null: it does not answer. */
  const node: { heights: Map<string, number> | null; asked: number } = { heights: null, asked: 0 };
  const questions = questionsOf(catalog, {
    isListCurrent: () => now.list,
    unnamed,
    async header(hash) {
      node.asked += 1;
      if (node.heights === null) throw new Error('No node.');
      const height = node.heights.get(hash);
      if (height === undefined) throw NO_SUCH_BLOCK;
      return { hash, height, previousHash: null, timeSeconds: 1, medianTimeSeconds: 1 };
    },
    catalogRebuild: {
      get isDone() {
        return now.isDone;
      },
    },
    chain: {
      get whyNotCurrent() {
        return now.walk ? null : now.why;
      },
      get lacksHistory() {
        return catalog.chain.unwalkedFloor !== null;
      },
      get hasConflict() {
        return now.conflict;
      },
      get finalHeight() {
        return catalog.chain.state.finalHeight;
      },
    },
    clock: { steadyMs: () => now.ms },
  });
  /** A block with these contents in it. */
  function mine(height: number, ...labels: string[]): void {
    const occurrences = labels.map((label, transactionIndex) => ({
      ...nameOf(label),
      transactionIndex,
      txid: parseTxId(sha(`${label} in ${height}`)),
      vout: 0,
      makeRecord: () => '{}',
    }));
    const time = 1_767_000_000 + height * 150;
    catalog.chain.recordBlocks(
      [
        {
          height,
          hash: hashAt(height),
          previousHash: hashAt(height - 1),
          timeSeconds: time,
          medianTimeSeconds: time,
          occurrences,
          unclear: [],
        },
      ],
      () => false,
    );
  }
  function store(...labels: string[]): void {
    catalog.recordSpooled(labels.map((label) => spooled(label)));
    catalog.recordProven(
      'local',
      labels.flatMap((label) => catalog.find(spooled(label).versionHash)),
    );
    now.ms += 60_000;
  }
  return { catalog, questions, now, node, unnamed, mine, store };
}

const NO_SUCH_BLOCK = new NodeRpcError('node/rpc-error', 'Block not found', {
  ...{ rpcCode: -5, rpcMessage: 'Block not found', retryable: false, hint: 'Ask for another.' },
});

function nameOf(label: string): ContentName {
  return { hashType: 'keccak256', versionHash: spooled(label).versionHash };
}

const last = (questions: ChainQuestions) => {
  const answer = questions.lastBlock();
  return answer.kind === 'found' ? answer.block.height : answer.reason;
};

describe('the last block', () => {
  test('stops before what is not stored, and goes over what is stored or lost', () => {
    const { catalog, questions, mine, store, now } = scene();
    expect(last(questions)).toBe('not-final');
    mine(100, 'a');
    mine(101);
    mine(102, 'b');
    catalog.chain.recordFinal(102);
    expect(last(questions)).toBe('not-placed');
    store('a');
    expect(last(questions)).toBe(101);
    catalog.losses.record([{ ...nameOf('b'), upToHeight: 102, deadlineSeconds: 1, answers: [] }]);
    now.ms += 60_000;
    expect(last(questions)).toBe(102);
    // Spooled is not stored.
    mine(103, 'c');
    catalog.recordSpooled([spooled('c')]);
    catalog.chain.recordFinal(103);
    expect(last(questions)).toBe(102);
    store('c');
    expect(last(questions)).toBe(103);
    catalog.recordDamaged('local', nameOf('a'));
    now.ms += 60_000;
    expect(last(questions)).toBe('not-placed');
  });

  test('never passes what is final', () => {
    const { catalog, questions, mine } = scene();
    mine(100);
    mine(101);
    catalog.chain.recordFinal(100);
    expect(last(questions)).toBe(100);
  });
});

describe('stored and final', () => {
  const ask = (questions: ChainQuestions, ...labels: string[]) => {
    const answer = questions.storedAndFinal(labels.map((label) => nameOf(label).versionHash));
    return answer.kind === 'told' ? answer.safe : answer.reason;
  };

  test('needs both, of the same content', () => {
    const { catalog, questions, mine, store } = scene();
    mine(100, 'a');
    mine(101, 'b');
    store('a', 'b', 'never mined');
    catalog.chain.recordFinal(100);
    expect(ask(questions, 'a', 'b', 'never mined', 'unknown')).toEqual([true, false, false, false]);
  });

  test('while a no could be wrong it says so, and a yes all the same', () => {
    const { catalog, questions, mine, store, now } = scene();
    mine(100, 'a', 'late');
    store('a');
    catalog.chain.recordFinal(100);
    expect(ask(questions, 'a', 'late')).toBe('not-placed');
    for (const [trouble, reason] of [
      [{ isDone: false }, 'rebuilding'],
      [{ list: false }, 'walk-behind'],
      [{ walk: false }, 'walk-behind'],
      [{ walk: false, why: 'finality-unknown' }, 'finality-unknown'],
      [{ walk: false, why: 'not-compared' }, 'not-compared'],
      [{ conflict: true }, 'conflict'],
    ] as const) {
      Object.assign(now, { isDone: true, list: true, walk: true, why: 'walk-behind', conflict: false }, trouble);
      expect(ask(questions, 'a', 'unknown')).toBe(reason);
      expect(ask(questions, 'a', 'a')).toEqual([true, true]);
    }
  });

  test('lost content is a plain no', () => {
    const { catalog, questions, mine } = scene();
    mine(100, 'a');
    catalog.losses.record([{ ...nameOf('a'), upToHeight: 100, deadlineSeconds: 1, answers: [] }]);
    expect(ask(questions, 'a')).toEqual([false]);
    expect(recordedLoss(catalog, { ...nameOf('a'), hashType: null })).toMatchObject({ sources: [] });
    // A later occurrence has a deadline of its own.
    mine(101, 'a');
    expect(recordedLoss(catalog, { ...nameOf('a'), hashType: null })).toBeNull();
    expect(ask(questions, 'a')).toBe('not-placed');
  });
});

describe('the window', () => {
  test('is what a node still lists, oldest first, a resubmission by its newest block', () => {
    const { questions, mine, store } = scene();
    mine(100, 'old');
    for (let height = 101; height < 250; height += 1) mine(height);
    mine(250, 'a', 'b');
    mine(251, 'a', 'not here');
    store('old', 'a', 'b');
    const window = questions.window();
    const entries = window.kind === 'found' ? window.entries : [];
    expect(entries.map(({ versionHash, txid }) => [versionHash, txid])).toEqual([
      [nameOf('b').versionHash, sha('b in 250')],
      [nameOf('a').versionHash, sha('a in 251')],
    ]);
  });

  test('holds what waits for a block', () => {
    const { catalog, questions, mine, now } = scene();
    mine(100);
    catalog.recordSpooled([spooled('waiting', 'keccak256', { medianTimeSeconds: 1_767_015_000 })]);
    const window = questions.window();
    expect(window).toMatchObject({ entries: [{ versionHash: nameOf('waiting').versionHash }] });
    now.walk = false;
    expect(questions.window()).toMatchObject({ kind: 'unavailable', reason: 'walk-behind' });
  });
});

test('blocks and transactions: absent only where everything was looked at', () => {
  const { questions, mine, now } = scene();
  mine(100, 'a');
  expect(questions.block(100)).toMatchObject({ kind: 'found', block: { occurrences: [{ chainLocked: false }] } });
  expect(questions.block(hashAt(100))).toMatchObject({ kind: 'found', block: { height: 100 } });
  expect(questions.block(101)).toEqual({ kind: 'absent' });
  expect(questions.block(99)).toMatchObject({ reason: 'not-walked' });
  expect(questions.transaction(parseTxId(sha('a in 100')))).toMatchObject({ occurrence: { height: 100 } });
  expect(questions.transaction(parseTxId(sha('none')))).toEqual({ kind: 'absent' });
  now.walk = false;
  expect(questions.transaction(parseTxId(sha('none')))).toMatchObject({ reason: 'walk-behind' });
  expect(questions.block(101)).toMatchObject({ reason: 'walk-behind' });
  // Another node may have it on its branch.
  Object.assign(now, { walk: true, conflict: true });
  expect(questions.transaction(parseTxId(sha('none')))).toMatchObject({ reason: 'conflict' });
  expect(questions.block(101)).toMatchObject({ reason: 'conflict' });
});

test('a block hash is absent only where a node denies it, or has it on another branch above the lowest walked block', async () => {
  const { questions, mine, node, now } = scene();
  mine(100);
  mine(101);
  const [below, stale, ahead, unknown] = ['below', 'stale', 'ahead', 'unknown'].map((label) =>
    parseBlockHash(sha(label)),
  );
  const asked = async (at: number | BlockHash | undefined) => {
    const lookup = await questions.blockAsked(at ?? 0, NEVER);
    return lookup.kind === 'unavailable' ? lookup.reason : lookup.kind;
  };
  expect(await asked(below)).toBe('walk-behind');
  node.heights = new Map([
    [String(below), 99],
    [String(stale), 100],
    [String(ahead), 102],
  ]);
  node.asked = 0;
  const told = [await asked(below), await asked(stale), await asked(ahead), await asked(unknown)];
  expect([told, node.asked]).toEqual([['not-walked', 'absent', 'walk-behind', 'absent'], 4]);
  // A walked block, and a question for a height, cost the node nothing.
  expect([await asked(hashAt(101)), await asked(99), await asked(102), node.asked]).toEqual([
    'found',
    'not-walked',
    'absent',
    4,
  ]);
  now.walk = false;
  expect([await asked(unknown), node.asked]).toEqual(['walk-behind', 4]);
});

test('made-up block hashes cost the node at most ten questions a second, and two at a time', async () => {
  const { questions, mine, node, now } = scene();
  mine(100);
  node.heights = new Map();
  const asked = async (label: string) => {
    const lookup = await questions.blockAsked(parseBlockHash(sha(label)), NEVER);
    return lookup.kind === 'unavailable' ? lookup.reason : lookup.kind;
  };
  expect(await Promise.all(['a', 'b', 'c'].map(asked))).toEqual(['absent', 'absent', 'walk-behind']);
  for (let at = 0; at < 20; at += 1) await asked(`made up ${at}`);
  expect([node.asked, await asked('another')]).toEqual([10, 'walk-behind']);
  now.ms += 100;
  expect([await asked('another'), await asked('one more'), node.asked]).toEqual(['absent', 'walk-behind', 11]);
  now.ms += 60_000;
  for (let at = 0; at < 20; at += 1) await asked(`made up ${at}`);
  expect(node.asked).toBe(21);
});

test('a transaction is not absent while a list has content that no block has, and does not name its transaction', async () => {
  const { questions, mine, unnamed } = scene();
  mine(100, 'mined');
  const asked = () => questions.transactionAsked(parseTxId(sha('none')), false, NEVER);
  unnamed.add(nameOf('mined').versionHash);
  expect(await asked()).toEqual({ kind: 'absent' });
  unnamed.add(nameOf('waiting').versionHash);
  expect(await asked()).toMatchObject({ kind: 'unavailable', reason: 'walk-behind' });
  mine(101, 'waiting');
  expect(await asked()).toEqual({ kind: 'absent' });
});
