import { expect, onTestFinished, test } from 'vitest';
import { COPIED } from '../../src/catalog/copy-table.ts';
import { readBlock } from '../../src/chain/read-block.ts';
import { type BlockHash, parseBlockHash, parseVersionHash } from '../../src/core/blob/ids.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { Notifier } from '../../src/core/notifier.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { CopyWorker } from '../../src/replication/copy-worker.ts';
import { RecordCopies } from '../../src/replication/record-copies.ts';
import { StorageError } from '../../src/storage/errors.ts';
import { keyOf, type NewObject, type ObjectKey, type PutMode } from '../../src/storage/object-store.ts';
import { parseOccurrenceRecord } from '../../src/verify/decode-occurrence-record.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { occurrenceKey } from '../../src/verify/occurrence-record.ts';
import { FakeBlobNode } from '../app/fake-blob-node.ts';
import { HandClock, openCatalog } from '../catalog/catalog-in-folder.ts';
import { eventually } from '../e2e/eventually.ts';
import { hurry } from '../hurried-time.ts';
import { MemoryStore, pathOf } from '../storage/memory-store.ts';
import { commitment, craftBlock, craftTransaction, doubleSha } from '../verify/craft.ts';

const HEIGHT = 7;
const HEADER_BYTES = 80;
const CONTENTS = ['a', 'b', 'c'].map((label) => parseVersionHash(hexOf(nobleHasher.keccak256(Buffer.from(label)))));
const CARRIERS = CONTENTS.map((hash, index) =>
  craftTransaction({ version: 137, sequence: 10 + index, scripts: [commitment(Buffer.from(hash, 'hex'))] }),
);
const coinbase = craftTransaction({ sequence: 1 });

/** Blocks of one height, told apart by their version; with the carriers in this order behind the coinbase. */
function crafted(version: number, order: readonly number[]) {
  const raw = craftBlock([coinbase, ...order.map((index) => CARRIERS[index] ?? coinbase)], { version });
  const hash = parseBlockHash(hexOf(doubleSha(raw.subarray(0, HEADER_BYTES)).reverse()));
  return { raw, hash, block: { ...readBlock(raw, hash, HEIGHT), medianTimeSeconds: 1_767_000_000 } };
}
type Crafted = ReturnType<typeof crafted>;

const FIRST = crafted(0x20000001, [0, 1, 2]);
const SWAPPED = crafted(0x20000002, [1, 2, 0]);
const OTHER = crafted(0x20000003, [0, 1]);

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

class MemoryRecords extends MemoryStore {
  puts = 0;
  /** Steps in before the document lies there. */
  beforePut: () => void = () => {};
  /** The store refuses every change of these, and takes others. */
  readonly poisoned = new Set<string>();
  readonly changes: string[] = [];
  /** The store acknowledges every change of these, and makes none. */
  readonly unchanged = new Set<string>();

  constructor() {
    super('local');
  }

  #change(change: 'put' | 'delete', key: ObjectKey): void {
    const path = pathOf(key);
    if (this.poisoned.has(path))
      throw new StorageError('storage/fault', 'Refused.', { retryable: true, hint: 'Look.' });
    this.changes.push(`${change} ${path}`);
  }

  override async put(object: NewObject, mode: PutMode, signal: AbortSignal): Promise<void> {
    this.puts += 1;
    this.beforePut();
    this.#change('put', keyOf(object));
    if (this.unchanged.has(pathOf(keyOf(object)))) return;
    await super.put(object, mode, signal);
  }

  override async delete(key: ObjectKey, signal: AbortSignal): Promise<void> {
    this.#change('delete', key);
    if (this.unchanged.has(pathOf(key))) return;
    await super.delete(key, signal);
  }
}

async function rawBlock(hash: BlockHash): Promise<Uint8Array> {
  const found = [FIRST, SWAPPED, OTHER].find((one) => one.hash === hash);
  if (found === undefined) throw new Error(`no block ${hash}`);
  return found.raw;
}

/** A block whose three contents are held and whose records are due, and a keeper that has not begun. */
function scene() {
  hurry();
  const clock = new HandClock();
  const catalog = openCatalog({ clock });
  const store = new MemoryRecords();
  const changes = new Notifier();
  catalog.chain.useFinality('depth:1');
  catalog.chain.recordStart(HEIGHT);
  const walk = ({ block }: Crafted) => {
    catalog.chain.recordBlocks([block], () => false);
    catalog.chain.recordFinal(HEIGHT);
  };
  const replaceBy = (next: Crafted | null) => {
    catalog.chain.takeBack(HEIGHT - 1);
    if (next !== null) walk(next);
    changes.notify();
  };
  walk(FIRST);
  catalog.recordSpooled(
    CONTENTS.map((versionHash) => {
      const facts = { sizeBytes: 1, txid: null, medianTimeSeconds: 1_767_000_000, firstSeenMs: 1 };
      return { versionHash, hashType: 'keccak256', ...facts };
    }),
  );
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), clock.nowMs);
  const chain = {
    moved: changes,
    get finalHeight() {
      return catalog.chain.state.finalHeight;
    },
  };
  const node = Object.assign(new FakeBlobNode(), { rawBlock });
  const keeper = new CopyWorker(new RecordCopies(catalog, [store], chain, node), catalog, conditions);
  const start = () => {
    const stopping = new AbortController();
    const running = keeper.run(stopping.signal);
    onTestFinished(async () => {
      stopping.abort();
      await running;
    });
  };
  /** In the middle of the first put, once. */
  const inTheMiddle = (work: () => void) => {
    store.beforePut = () => {
      store.beforePut = () => {};
      work();
    };
  };
  const settled = async () => {
    await eventually(() => {
      expect(catalog.records.undeleted('local', 0, 9)).toEqual([]);
      expect(catalog.records.due('local', { height: -1, transactionIndex: -1 }, HEIGHT, 9)).toEqual([]);
    });
    return [...store.documents.values()].map((text) => parseOccurrenceRecord(text).header);
  };
  const again = (afterMs: number) => {
    clock.ms += afterMs;
    changes.notify();
  };
  return { catalog, store, conditions, again, replaceBy, start, inTheMiddle, settled };
}

const headerOf = ({ raw }: Crafted) => hexOf(raw.subarray(0, HEADER_BYTES));
const times = (count: number, block: Crafted) => Array.from({ length: count }, () => headerOf(block));

test('a block that leaves the branch while its records are written leaves none of them, and no more are begun', async () => {
  const { store, replaceBy, start, inTheMiddle, settled } = scene();
  inTheMiddle(() => replaceBy(null));
  start();
  expect(await settled()).toEqual([]);
  expect(store.puts).toBe(1);
});

test('one that takes its place with the same transactions gets records of its own, and keeps them', async () => {
  const { replaceBy, start, inTheMiddle, settled } = scene();
  inTheMiddle(() => replaceBy(SWAPPED));
  start();
  expect(await settled()).toEqual(times(3, SWAPPED));
});

test('a branch that comes back at once keeps its records', async () => {
  const { replaceBy, start, inTheMiddle, settled } = scene();
  inTheMiddle(() => {
    replaceBy(OTHER);
    replaceBy(FIRST);
  });
  start();
  expect(await settled()).toEqual(times(3, FIRST));
});

test('an occurrence that one rule called final and another one does not is withdrawn all the same', async () => {
  const { catalog, replaceBy, start, settled } = scene();
  start();
  expect(await settled()).toHaveLength(3);
  catalog.chain.useFinality('chainlock');
  expect(catalog.chain.state.finalHeight).toBeNull();
  replaceBy(null);
  expect(await settled()).toEqual([]);
});

/** The path of the record of a content's first occurrence. */
const keyIn = (catalog: ReturnType<typeof openCatalog>, content: number) => {
  const versionHash = CONTENTS[content] ?? '';
  const [occurrence] = catalog.chain.occurrences(
    { hashType: 'keccak256', versionHash: parseVersionHash(versionHash) },
    null,
    1,
  );
  if (occurrence === undefined) throw new Error('no occurrence');
  return occurrenceKey(occurrence);
};

test('a record that the store refuses rests, is told with its number, and keeps none of the others', async () => {
  const { catalog, store, conditions, again, start, settled } = scene();
  const poisoned = keyIn(catalog, 0);
  store.poisoned.add(poisoned);
  start();
  await eventually(() => {
    expect(store.documents.size).toBe(2);
    expect(conditions.all()).toMatchObject([{ code: 'storage/fault', blocksReadiness: false }]);
  });
  expect(conditions.all()[0]?.message).toMatch(/refuses 1 records and takes others/);
  const { puts } = store;
  again(1_000);
  store.poisoned.clear();
  again(19_000);
  expect(await settled()).toHaveLength(3);
  // The refused record was not tried while it rested.
  expect(store.puts).toBe(puts + 1);
  await eventually(() => expect(conditions.all()).toEqual([]));
});

test('a deletion that the store refuses keeps no other one, and a later record of the same name waits for it', async () => {
  const { catalog, store, again, replaceBy, start, settled } = scene();
  start();
  expect(await settled()).toHaveLength(3);
  const poisoned = keyIn(catalog, 0);
  store.poisoned.add(poisoned);
  replaceBy(null);
  await eventually(() => expect(store.documents.size).toBe(1));
  // The same transactions are final again, at the same height, in another block.
  const before = store.changes.length;
  replaceBy(SWAPPED);
  await eventually(() => expect(store.documents.size).toBe(3));
  expect(store.changes.slice(before)).toHaveLength(2);
  store.poisoned.clear();
  again(19_000);
  expect(await settled()).toEqual(times(3, SWAPPED));
  expect(store.changes.slice(before + 2)).toEqual([`delete ${poisoned}`, `put ${poisoned}`]);
});

test('a record counts as written, and as deleted, when the store shows it: what it only acknowledged is repeated', async () => {
  const { catalog, store, conditions, again, replaceBy, start, settled } = scene();
  const lost = keyIn(catalog, 0);
  store.unchanged.add(lost);
  start();
  await eventually(() => {
    expect(store.documents.size).toBe(2);
    expect(conditions.all()).toMatchObject([{ code: 'archive/not-kept', blocksReadiness: false }]);
  });
  expect(catalog.copies.count(COPIED.record, 'local')).toBe(1);
  store.unchanged.clear();
  again(19_000);
  expect(await settled()).toEqual(times(3, FIRST));
  await eventually(() => expect(conditions.all()).toEqual([]));

  store.unchanged.add(lost);
  replaceBy(null);
  await eventually(() => expect(conditions.all()).toMatchObject([{ code: 'archive/not-kept' }]));
  expect([catalog.copies.count(COPIED.withdrawn, 'local'), [...store.documents.keys()]]).toEqual([1, [lost]]);
  store.unchanged.clear();
  again(19_000);
  expect(await settled()).toEqual([]);
});
