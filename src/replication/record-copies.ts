import type { Catalog } from '../catalog/catalog.ts';
import { RECORDED_OCCURRENCES } from '../catalog/chain-index.ts';
import { COPIED } from '../catalog/copy-table.ts';
import { type DueRecord, recordNumber, UNMADE_RECORD, type WithdrawnOccurrence } from '../catalog/record-outbox.ts';
import { recordIn } from '../chain/occurrence-proofs.ts';
import { type ProvenBlock, readBlock } from '../chain/read-block.ts';
import { codeOf, messageOf } from '../core/blob/errors.ts';
import { Notifier } from '../core/notifier.ts';
import type { ChainNode } from '../node/chain-node.ts';
import { StorageError } from '../storage/errors.ts';
import { type ObjectStore, readText } from '../storage/object-store.ts';
import { parseRecordPath, type RecordPath } from '../storage/record-path.ts';
import { decodeOccurrenceRecord } from '../verify/decode-occurrence-record.ts';
import { VerifyError } from '../verify/errors.ts';
import { encodeOccurrenceRecord, type OccurrenceRecord, occurrenceKey } from '../verify/occurrence-record.ts';
import type { ChainState } from '../view/chain-state.ts';
import type { CopyFound, CopyKind, Move } from './copy-worker.ts';

interface RecordMove extends Move {
  readonly path: RecordPath;
  /** To be written. */
  readonly due?: DueRecord;
  /** To be deleted. */
  readonly withdrawn?: WithdrawnOccurrence;
}

const FILL_GROUP = 1_024;
const BEGINNING = { height: -1, transactionIndex: -1 } as const;

/**
 * The record of each final occurrence is written to every backend with names, and deleted where it was withdrawn. Deletions
 * come before writes, for the same transaction can be final again under the same name, in another block. A record that was
 * put while its block was taken back is queued to be deleted, and never marked as written. A crash between the put and the
 * mark leaves it queued, and the same text is put again. A record that was put is read back and has to prove its occurrence;
 * a deleted one must be gone. A deletion waits for a backend that is away, also over a restart. A backend that is configured
 * later loses all that was ever withdrawn. Archivers that share a bucket write the same record.
 */
export class RecordCopies implements CopyKind<ObjectStore, RecordMove> {
  readonly name = 'records';
  readonly copied = [COPIED.withdrawn, COPIED.record];
  /** Every backend with names, the data folder first. Each gets every record, whenever it came to be one. */
  readonly places: readonly ObjectStore[];
  readonly changes: Notifier;
  readonly #catalog: Catalog;
  readonly #chain: Pick<ChainState, 'finalHeight' | 'moved'>;
  /** Gives the blocks of records that were not made when the blocks were walked. */
  readonly #node: ChainNode;
  /** The block that was read last: what is due comes in the order of the chain. */
  #lastRead: ProvenBlock | null = null;

  constructor(
    catalog: Catalog,
    records: readonly ObjectStore[],
    chain: Pick<ChainState, 'finalHeight' | 'moved'>,
    node: ChainNode,
  ) {
    this.#catalog = catalog;
    this.#chain = chain;
    this.#node = node;
    this.places = records;
    const { copies } = catalog;
    this.changes = Notifier.following(chain.moved, copies.changes(COPIED.withdrawn), copies.changes(COPIED.record));
  }

  async prepare(): Promise<void> {}

  due({ id }: ObjectStore, after: RecordMove | null, limit: number): RecordMove[] {
    const [catalog, chain] = [this.#catalog, this.#chain];
    if (after?.due === undefined) {
      const withdrawn = catalog.records.undeleted(id, after?.object ?? 0, limit);
      if (withdrawn.length > 0) return withdrawn.map(toBeDeleted);
    }
    const final = chain.finalHeight;
    const due = final === null ? [] : catalog.records.due(id, after?.due ?? BEGINNING, final, limit);
    if (due.length === 0) this.#lastRead = null;
    return due.map(toBeWritten);
  }

  async move({ path, due, withdrawn }: RecordMove, store: ObjectStore, signal: AbortSignal) {
    if (withdrawn !== undefined) await deleteFrom(store, path, withdrawn, signal);
    if (due === undefined) return 'brought';
    // The block may leave the branch at any time: then the record is neither made nor written.
    const text = this.#isOurs(due) ? await this.#textOf(due, store, signal) : null;
    if (text === null || !this.#isOurs(due)) return 'not-now';
    if (text instanceof Error) return text;
    await store.put({ path, text }, 'replace', signal);
    return 'brought';
  }

  /** A record is good when it proves its occurrence, whichever archiver wrote it. */
  async find({ path, due, withdrawn }: RecordMove, store: ObjectStore, signal: AbortSignal): Promise<CopyFound> {
    // The record of a block that has come back is right, whichever archiver wrote it.
    const isGone = withdrawn !== undefined && !this.#isOurs(withdrawn);
    if (isGone && (await lies(store, path, withdrawn, signal))) return 'damaged';
    if (due === undefined) return 'good';
    const found = await this.#recordIn(store, due, signal);
    if (found === 'none') return 'missing';
    return typeof found === 'string' ? found : 'good';
  }

  #isOurs({ height, blockHash }: Pick<DueRecord, 'height' | 'blockHash'>): boolean {
    return this.#catalog.chain.blockAt(height)?.hash === blockHash;
  }

  settle({ id }: ObjectStore, done: readonly RecordMove[]): void {
    const { records } = this.#catalog;
    records.recordDeleted(
      id,
      done.flatMap(({ withdrawn }) => withdrawn?.sequence ?? []),
    );
    // A record that a reorganisation withdrew while it was put is queued to be deleted, and does not count as written.
    records.recordWritten(
      id,
      done.flatMap(({ due }) => due ?? []),
    );
  }

  roundEnded({ id }: ObjectStore): boolean {
    const [chain, catalog] = [this.#chain, this.#catalog];
    return chain.finalHeight !== null && catalog.records.fillSome(id, RECORDED_OCCURRENCES, FILL_GROUP);
  }

  async #textOf(due: DueRecord, store: ObjectStore, signal: AbortSignal): Promise<string | Error> {
    try {
      if (due.record !== UNMADE_RECORD) return completed(due, due.record);
      const [first, ...others] = this.places.filter((other) => other !== store);
      // The data folder is near; a node that pruned the block has others for it.
      const near = first === undefined ? null : await this.#copyFrom(first, due, signal);
      if (near !== null) return near;
      const made = await this.#make(due, signal);
      if (!(made instanceof Error)) return completed(due, made);
      for (const other of others) {
        const copy = await this.#copyFrom(other, due, signal);
        if (copy !== null) return copy;
      }
      return made;
    } catch (error) {
      signal.throwIfAborted();
      return error instanceof Error ? error : new Error(messageOf(error));
    }
  }

  /** null: that store has not got it, or cannot be asked. */
  async #copyFrom(store: ObjectStore, due: DueRecord, signal: AbortSignal): Promise<string | null> {
    try {
      const record = await this.#recordIn(store, due, signal);
      return typeof record === 'string' ? null : encodeOccurrenceRecord(record);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof StorageError) return null;
      throw error;
    }
  }

  /** `not-now`: its block has left the branch. */
  async #recordIn(
    store: ObjectStore,
    due: DueRecord,
    signal: AbortSignal,
  ): Promise<OccurrenceRecord | 'none' | 'damaged' | 'not-now'> {
    const block = this.#catalog.chain.blockAt(due.height);
    if (block?.hash !== due.blockHash) return 'not-now';
    const { medianTimeSeconds } = block;
    try {
      const found = await recordIn(store, { ...due, medianTimeSeconds }, due.sizeBytes, signal);
      return found === 'wrong' ? 'damaged' : found;
    } catch (error) {
      if (error instanceof VerifyError) return 'damaged';
      throw error;
    }
  }

  async #make({ height, transactionIndex, blockHash: hash }: DueRecord, signal: AbortSignal): Promise<string | Error> {
    try {
      if (this.#lastRead?.hash !== hash) {
        this.#lastRead = readBlock(await this.#node.rawBlock(hash, signal), hash, height);
      }
      const { occurrences } = this.#lastRead;
      const occurrence = occurrences.find((one) => one.transactionIndex === transactionIndex);
      if (occurrence !== undefined) return occurrence.makeRecord();
      throw new RangeError(`block ${height} has no blob in transaction ${transactionIndex}`);
    } catch (error) {
      signal.throwIfAborted();
      return error instanceof Error ? error : new Error(messageOf(error));
    }
  }
}

function toBeDeleted(withdrawn: WithdrawnOccurrence): RecordMove {
  const path = parseRecordPath(occurrenceKey(withdrawn));
  return { kind: COPIED.withdrawn, object: withdrawn.sequence, path, withdrawn };
}

function toBeWritten(due: DueRecord): RecordMove {
  return { kind: COPIED.record, object: recordNumber(due), path: parseRecordPath(occurrenceKey(due)), due };
}

function completed({ sizeBytes }: DueRecord, record: string): string {
  const value: unknown = JSON.parse(record);
  return encodeOccurrenceRecord({ ...decodeOccurrenceRecord(value), size: sizeBytes });
}

/** Deletes the record. Where object lock keeps it, a tombstone names its block: the same name can be right later. */
async function deleteFrom(
  store: ObjectStore,
  path: RecordPath,
  occurrence: WithdrawnOccurrence,
  signal: AbortSignal,
): Promise<void> {
  try {
    await store.delete(path, signal);
  } catch (error) {
    if (codeOf(error) !== 'storage/locked') throw error;
    const tombstone = { version: 1, withdrawn: true, blockHash: occurrence.blockHash };
    await store.put({ path: tombstonePath(path), text: `${JSON.stringify(tombstone, null, 2)}\n` }, 'replace', signal);
  }
}

/** Reports whether the record of that block is still valid there. Another archiver may have written one of another block. */
async function lies(
  store: ObjectStore,
  path: RecordPath,
  { blockHash }: WithdrawnOccurrence,
  signal: AbortSignal,
): Promise<boolean> {
  const isOfIt = async (at: RecordPath) => (await readText(store, at, signal))?.includes(blockHash) ?? false;
  return (await isOfIt(path)) && !(await isOfIt(tombstonePath(path)));
}

function tombstonePath(path: RecordPath): RecordPath {
  return parseRecordPath(path.replace(/\.json$/, '.withdrawn.json'));
}
