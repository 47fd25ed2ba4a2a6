import { expect, onTestFinished, test } from 'vitest';
import type { BlockRow } from '../../src/catalog/block-table.ts';
import type { NodeBranch } from '../../src/catalog/node-branches.ts';
import { ConflictWatch } from '../../src/chain/conflict-watch.ts';
import { type BlockHash, parseBlockHash, type TxId, type VersionHash } from '../../src/core/blob/ids.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { Notifier } from '../../src/core/notifier.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import type { ListedBlob } from '../../src/node/blob-node.ts';
import { sighting } from '../catalog/catalog-in-folder.ts';
import { hurry } from '../hurried-time.ts';

const GENESIS = hashOf('a', 0);
const SILENT = new Error('It does not answer.');

function hashOf(branch: string, height: number): BlockHash {
  return parseBlockHash(`${branch.charCodeAt(0).toString(16)}${height.toString(16)}`.padStart(64, '0'));
}

/** Blocks of a branch up to a height. The branch leaves branch a after `fork`. */
class Branch {
  readonly name: string;
  height: number;
  letter: string;
  fork: number;
  isSilent = false;
  genesis = GENESIS;

  constructor(name: string, letter: string, height: number, fork = 0) {
    this.name = name;
    this.letter = letter;
    this.height = height;
    this.fork = fork;
  }

  at(height: number): BlockHash | null {
    if (height > this.height) return null;
    return hashOf(height <= this.fork ? 'a' : this.letter, height);
  }

  async blockHashAt(height: number): Promise<BlockHash | null> {
    if (this.isSilent) throw SILENT;
    return this.at(height);
  }

  async genesisHash(): Promise<BlockHash> {
    if (this.isSilent) throw SILENT;
    return this.genesis;
  }

  async tip() {
    if (this.isSilent) throw SILENT;
    const hash = this.at(this.height) ?? GENESIS;
    return { height: this.height, hash, medianTimeSeconds: this.height, syncing: false };
  }
}

function rowAt(branch: Branch, height: number): BlockRow | null {
  const hash = branch.at(height);
  const previousHash = branch.at(height - 1);
  if (hash === null || previousHash === null) return null;
  return { height, hash, previousHash, timeSeconds: height, medianTimeSeconds: height };
}

/** Last answers of the nodes, as the catalog keeps them. */
class Words {
  all: ReadonlyMap<string, NodeBranch>;

  constructor(forked: Readonly<Record<string, number>>) {
    this.all = new Map(Object.entries(forked).map(([name, commonHeight]) => [name, { commonHeight, isForked: true }]));
  }

  get forked(): ReadonlyMap<string, number> {
    const found = [...this.all].filter(([, { isForked }]) => isForked);
    return new Map(found.map(([name, { commonHeight }]) => [name, commonHeight]));
  }

  get lastCommonHeight(): number | null {
    return this.forked.size === 0 ? null : Math.min(...this.forked.values());
  }

  replace(branches: ReadonlyMap<string, NodeBranch>): void {
    this.all = branches;
  }
}

function scene(walked: Branch, nodes: readonly Branch[], nodeBranches = new Words({})) {
  hurry();
  const chain = {
    nodeBranches,
    get state() {
      return { startHeight: 1, lowestHeight: 1, tip: rowAt(walked, walked.height), finalHeight: walked.height };
    },
    blockAt: (height: number) => rowAt(walked, height),
  };
  const moved = new Notifier();
  const tip = { height: 1, hash: GENESIS, medianTimeSeconds: 1, syncing: false };
  const state: { genesis: BlockHash | null; tip: typeof tip } = { genesis: GENESIS, tip };
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), () => 0);
  const heights: ReadonlyMap<string, number>[] = [];
  const byHash = new Map<VersionHash, ListedBlob>();
  const noted: (readonly ListedBlob[])[] = [];
  const poller = { state, noteListedElsewhere: (entries: readonly ListedBlob[]) => void noted.push(entries) };
  const lag = { note: (found: ReadonlyMap<string, number>) => heights.push(new Map(found)) };
  const lists = { read: async () => ({ byHash: new Map(byHash), transactions: new Set<TxId>(), silent: [] }) };
  const watch = new ConflictWatch(nodes, { chain }, poller, { moved }, conditions, lag, lists);
  const stopping = new AbortController();
  const start = () => {
    const running = watch.run(stopping.signal);
    onTestFinished(async () => {
      stopping.abort();
      await running;
    });
  };
  return { watch, conditions, moved, state, start, heights, byHash, noted };
}

test('blocks after the last comparison are not final, because the nodes may have parted there', async () => {
  const walked = new Branch('us', 'a', 10);
  const [first, second] = [new Branch('first', 'a', 40), new Branch('second', 'b', 40, 20)];
  const kept = new Words({});
  const { watch, moved, start, conditions } = scene(walked, [first, second], kept);
  expect(watch.isUnknown).toBe(true);
  start();
  await expect.poll(() => watch.isUnknown).toBe(false);
  expect(watch.lastCommonHeight).toBe(10);
  // The cursor is far past the fork before the nodes are asked again.
  walked.height = 40;
  expect(watch.lastCommonHeight).toBe(10);
  moved.notify();
  await expect.poll(() => watch.lastCommonHeight).toBe(20);
  expect(conditions.has('chain:conflict')).toBe(true);
  expect(kept.forked).toEqual(new Map([['second', 20]]));
});

test('a conflict holds while the chain is taken back to where the nodes part, and after a node goes away', async () => {
  const walked = new Branch('us', 'b', 40, 20);
  const [first, second] = [new Branch('first', 'a', 45), new Branch('second', 'b', 45, 20)];
  const kept = new Words({ first: 20 });
  const { watch, moved, start, conditions } = scene(walked, [first, second], kept);
  // The follower takes its blocks back, and the catalog notes that the second node has them.
  walked.height = 20;
  walked.fork = 45;
  kept.replace(new Map([...kept.all, ['second', { commonHeight: 20, isForked: true }]]));
  start();
  await expect.poll(() => watch.isUnknown).toBe(false);
  expect(kept.forked.get('second')).toBe(20);
  second.isSilent = true;
  walked.height = 40;
  moved.notify();
  await expect.poll(() => kept.forked.has('first')).toBe(false);
  expect(watch.lastCommonHeight).toBe(20);
  expect(conditions.has('chain:conflict')).toBe(true);
  // The second node has given up its own branch.
  second.isSilent = false;
  second.fork = 45;
  moved.notify();
  await expect.poll(() => conditions.has('chain:conflict')).toBe(false);
});

test('a conflict names the nodes that said another hash, and no node that cannot be compared yet', async () => {
  const walked = new Branch('us', 'a', 20);
  const nodes = [new Branch('first', 'a', 45), new Branch('second', 'b', 45, 20), new Branch('third', 'c', 45, 10)];
  const [first, second, third] = nodes;
  if (first === undefined || second === undefined || third === undefined) throw new Error('There are three.');
  // The catalog has noted so of both when our branch gave up its blocks above 20.
  const assumed = { commonHeight: 20, isForked: true, isAssumed: true };
  const kept = new Words({});
  kept.replace(new Map(Object.entries({ first: assumed, second: assumed })));
  const { watch, moved, start, conditions } = scene(walked, nodes, kept);
  const told = () => conditions.all().find(({ code }) => code === 'chain/nodes-conflict')?.message ?? '';
  start();
  await expect.poll(told).toMatch(/^third follows another branch .* at height 10\./);
  expect(watch.lastCommonHeight).toBe(10);
  // The third node changes to our branch: the others still cannot be compared.
  third.fork = 45;
  moved.notify();
  await expect.poll(told).toMatch(/gave up its blocks above height 20\. first, second had those, and was not compared/);
  expect(watch.lastCommonHeight).toBe(20);
  walked.height = 40;
  moved.notify();
  await expect.poll(told).toMatch(/^second follows another branch .* at height 20\./);
});

test('a conflict holds while the follower changes to the other branch', async () => {
  const walked = new Branch('us', 'b', 40, 20);
  const [first, second] = [new Branch('first', 'a', 40), new Branch('second', 'b', 40, 20)];
  const { watch, moved, start } = scene(walked, [first, second]);
  start();
  await expect.poll(() => watch.lastCommonHeight).toBe(20);
  // The first node agrees now; the second one has not answered yet at that moment.
  let highest = 0;
  const { blockHashAt } = second;
  second.blockHashAt = async (height) => {
    highest = Math.max(highest, watch.isUnknown ? 0 : (watch.lastCommonHeight ?? Number.POSITIVE_INFINITY));
    return await blockHashAt.call(second, height);
  };
  walked.letter = 'a';
  expect(watch.isUnknown).toBe(true);
  moved.notify();
  await expect.poll(() => watch.isUnknown).toBe(false);
  expect([watch.lastCommonHeight, highest]).toEqual([20, 0]);
  // The follower rolls back to the fork, where all agree, and climbs again.
  walked.height = 20;
  moved.notify();
  await expect.poll(() => watch.isUnknown).toBe(false);
  walked.height = 40;
  expect(watch.lastCommonHeight).toBe(20);
});

test('a silent node keeps its last answer', async () => {
  const walked = new Branch('us', 'a', 30);
  const [first, second] = [new Branch('first', 'a', 40), new Branch('second', 'b', 40, 20)];
  const { watch, moved, start } = scene(walked, [first, second]);
  start();
  await expect.poll(() => watch.lastCommonHeight).toBe(20);
  second.isSilent = true;
  let asked = 0;
  const { blockHashAt } = first;
  first.blockHashAt = (height) => {
    asked += 1;
    return blockHashAt.call(first, height);
  };
  walked.height = 35;
  moved.notify();
  await expect.poll(() => asked).toBeGreaterThan(0);
  moved.notify();
  await expect.poll(() => asked).toBeGreaterThan(1);
  expect(watch.lastCommonHeight).toBe(20);
});

test('a conflict ends when the silent node answers and agrees', async () => {
  const walked = new Branch('us', 'a', 30);
  const [first, second] = [new Branch('first', 'a', 40), new Branch('second', 'b', 40, 20)];
  second.isSilent = true;
  const { watch, moved, start, conditions } = scene(walked, [first, second], new Words({ second: 20 }));
  start();
  await expect.poll(() => watch.lastCommonHeight).toBe(20);
  expect([watch.hasConflict, conditions.all()[0]?.message]).toEqual([
    true,
    expect.stringContaining('second (which does not answer now) follows another branch'),
  ]);
  Object.assign(second, { isSilent: false, letter: 'a' });
  moved.notify();
  await expect.poll(() => watch.lastCommonHeight).toBe(30);
  expect([watch.hasConflict, conditions.has('chain:conflict')]).toEqual([false, false]);
});

test('a node that is silent after a restart keeps its last answer, and a removed node has none', async () => {
  const walked = new Branch('us', 'a', 30);
  const [first, second] = [new Branch('first', 'a', 40), new Branch('second', 'b', 40, 20)];
  second.isSilent = true;
  const kept = new Words({ second: 20, 'taken out': 5 });
  const { watch, start, conditions } = scene(walked, [first, second], kept);
  start();
  await expect.poll(() => watch.isUnknown).toBe(false);
  expect(watch.lastCommonHeight).toBe(20);
  expect(conditions.has('chain:conflict')).toBe(true);
});

test('the last branches of the nodes count while nothing is compared, and only the process that compares forgets a removed node', async () => {
  const walked = new Branch('us', 'a', 30);
  const [first, second] = [new Branch('first', 'a', 40), new Branch('second', 'b', 40, 20)];
  expect(scene(walked, [first]).watch.commonHeightAtRest).toBe(Number.POSITIVE_INFINITY);
  expect(scene(walked, [first, second]).watch.commonHeightAtRest).toBe(null);
  const kept = new Words({ second: 20 });
  expect(scene(walked, [first, second], kept).watch.commonHeightAtRest).toBe(20);
  // A command that needs no node has one that is not configured.
  const { watch, start } = scene(walked, [new Branch('none', 'a', 0)], kept);
  expect([watch.commonHeightAtRest, watch.lastCommonHeight, kept.forked.get('second')]).toEqual([20, 20, 20]);
  start();
  await expect.poll(() => kept.all.size).toBe(0);
  expect(watch.lastCommonHeight).toBe(null);
  const agreeing = new Words({});
  const agreed = scene(walked, [first, new Branch('third', 'a', 25)], agreeing);
  agreed.start();
  await expect.poll(() => agreed.watch.isUnknown).toBe(false);
  walked.height = 35;
  expect(agreed.watch.commonHeightAtRest).toBe(30);
});

test('a node on another branch is not reported as on another chain before the archive’s chain is known', async () => {
  const walked = new Branch('us', 'a', 30);
  const [first, second] = [new Branch('first', 'a', 40), new Branch('second', 'b', 40, 20)];
  const kept = new Words({ second: 20 });
  const { watch, state, start } = scene(walked, [first, second], kept);
  state.genesis = null;
  start();
  let waited = 0;
  await expect.poll(() => ++waited).toBeGreaterThan(10);
  expect([watch.isUnknown, kept.forked.get('second')]).toEqual([true, 20]);
  state.genesis = GENESIS;
  await expect.poll(() => watch.isUnknown).toBe(false);
  expect(watch.lastCommonHeight).toBe(20);
});

test('a node on another chain is reported and is no conflict, and lag-watch gets heights of the followed branch only', async () => {
  const walked = new Branch('us', 'a', 30);
  const [ahead, short, parted, silent] = [
    new Branch('ahead', 'a', 34),
    new Branch('short', 'x', 12),
    new Branch('parted', 'b', 33, 25),
    new Branch('silent', 'a', 30),
  ];
  short.genesis = hashOf('x', 0);
  silent.isSilent = true;
  const { watch, conditions, start, heights } = scene(walked, [
    ahead,
    short,
    parted,
    silent,
    new Branch('late', 'a', 7),
  ]);
  start();
  await expect.poll(() => watch.isUnknown).toBe(false);
  expect(conditions.all().map(({ code }) => code)).toEqual(['chain/nodes-conflict', 'archive/other-chain']);
  expect(conditions.all()[1]?.message).toMatch(/^short is on another chain/);
  expect(heights.at(-1)).toEqual(
    new Map([
      ['ahead', 34],
      ['late', 7],
    ]),
  );
});

test('a blob that is listed during a conflict is noted once, and again with another time or in the next conflict', async () => {
  const walked = new Branch('us', 'a', 40);
  const second = new Branch('second', 'a', 40);
  const { moved, start, byHash, noted } = scene(walked, [new Branch('first', 'a', 40), second]);
  const blob = sighting('a');
  byHash.set(blob.versionHash, blob);
  start();
  const compared = async (letter: string) => {
    const rounds = noted.length;
    Object.assign(second, { letter, fork: letter === 'a' ? 0 : 20 });
    moved.notify();
    await expect.poll(() => noted.length).toBeGreaterThan(rounds);
    return noted.at(-1);
  };
  expect(await compared('a')).toEqual([]);
  expect(await compared('b')).toEqual([blob]);
  expect(await compared('b')).toEqual([]);
  const later = { ...blob, medianTimeSeconds: blob.medianTimeSeconds + 150 };
  byHash.set(blob.versionHash, later);
  expect(await compared('b')).toEqual([later]);
  expect(await compared('a')).toEqual([]);
  expect(await compared('b')).toEqual([later]);
});

test('a comparison in which the other node is silent ends no conflict, and its list is not noted again', async () => {
  const walked = new Branch('us', 'a', 40);
  const second = new Branch('second', 'b', 40, 20);
  const { watch, moved, start, byHash, noted } = scene(walked, [new Branch('first', 'a', 40), second]);
  const blob = sighting('a');
  byHash.set(blob.versionHash, blob);
  start();
  await expect.poll(() => noted.length).toBe(1);
  for (const isSilent of [true, false]) {
    const { notifications } = watch.compared;
    second.isSilent = isSilent;
    moved.notify();
    await expect.poll(() => watch.compared.notifications).toBeGreaterThan(notifications);
  }
  await expect.poll(() => noted.length).toBe(2);
  expect(noted).toEqual([[blob], []]);
});
