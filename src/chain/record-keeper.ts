import { setImmediate as letOthersWork } from 'node:timers/promises';
import type { Catalog } from '../catalog/catalog.ts';
import { RECORDED_OCCURRENCES } from '../catalog/chain-index.ts';
import { type DueRecord, UNMADE_RECORD, type WithdrawnOccurrence } from '../catalog/record-outbox.ts';
import { codeOf, messageOf } from '../core/blob/errors.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { Pulse } from '../core/pulse.ts';
import type { ChainNode } from '../node/chain-node.ts';
import { StorageError } from '../storage/errors.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { parseRecordPath, type RecordPath } from '../storage/record-path.ts';
import { decodeOccurrenceRecord } from '../verify/decode-occurrence-record.ts';
import { VerifyError } from '../verify/errors.ts';
import { encodeOccurrenceRecord, occurrenceKey } from '../verify/occurrence-record.ts';
import { recordIn } from './occurrence-proofs.ts';
import { type ProvenBlock, readBlock } from './read-block.ts';
import { RefusedRecords } from './refused-records.ts';

export interface RecordModules {
  readonly catalog: Catalog;
  /** Every backend with names, the data folder first. Each gets every record, whenever it came to be one. */
  readonly stores: readonly ObjectStore[];
  readonly conditions: ConditionBoard;
  /** Up to here everything on our branch is final now; null: nothing is. */
  readonly finalHeight: () => number | null;
  /** Asked for the blocks of records that were not made when they were walked. */
  readonly node: ChainNode;
  /** Rings when more may be final, or spooled. */
  readonly news: Pulse;
  /** A clock that never steps. */
  readonly steadyMs: () => number;
}

const GROUP = 64;
const FILL_GROUP = 1_024;
const IDLE_MS = 5_000;
const RETRY_MS = 15_000;
const BEGINNING = { height: -1, transactionIndex: -1 } as const;

/**
 * Writes the record of each final occurrence to every backend with names, and deletes those that were withdrawn: for each
 * backend at its own pace, so that one that is away holds up no other, and one record that it refuses no other record.
 */
export class RecordKeeper {
  readonly #modules: RecordModules;
  readonly #pause = new Pulse();
  /** The block that was read last: what is due comes in the order of the chain. */
  #lastRead: ProvenBlock | null = null;

  constructor(modules: RecordModules) {
    this.#modules = modules;
    modules.catalog.records.useStores(modules.stores.map(({ id }) => id));
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#modules.stores.map((store) => this.#serve(store, signal)));
  }

  async #serve(store: ObjectStore, signal: AbortSignal): Promise<void> {
    const { news, conditions, catalog, finalHeight, steadyMs } = this.#modules;
    const subject = `chain:records:${store.id}` as const;
    const refused = new RefusedRecords({ store, subject: `chain:refused-records:${store.id}`, conditions, steadyMs });
    while (!signal.aborted) {
      const rings = news.rings;
      try {
        refused.beginRound();
        await this.#deleteWithdrawn(store, refused, signal);
        let fault = await this.#writeDue(store, refused, signal);
        while (finalHeight() !== null && catalog.records.fillSome(store.id, RECORDED_OCCURRENCES, FILL_GROUP)) {
          fault = await this.#writeDue(store, refused, signal);
        }
        refused.endRound();
        if (fault !== null) throw fault;
        conditions.set(subject, null);
      } catch (error) {
        if (signal.aborted) return;
        // Bytes are archived and served all the same: told, but the archive is ready.
        conditions.setError(subject, error, false);
        await this.#pause.wait(RETRY_MS, signal);
      }
      if (news.rings === rings) await news.wait(IDLE_MS, signal);
    }
  }

  /** Before anything is written: the same transaction can be final again under the same name, in another block. */
  async #deleteWithdrawn(store: ObjectStore, refused: RefusedRecords, signal: AbortSignal): Promise<void> {
    const { catalog } = this.#modules;
    for (let after = 0; ; ) {
      const withdrawn = catalog.records.undeleted(store.id, after, GROUP);
      const last = withdrawn.at(-1);
      if (last === undefined) return;
      after = last.sequence;
      const deleted: number[] = [];
      for (const occurrence of withdrawn) {
        const path = parseRecordPath(occurrenceKey(occurrence));
        const remove = () => deleteFrom(store, path, occurrence, signal);
        if (!refused.isResting(path) && (await refused.attempt(path, remove, signal))) {
          deleted.push(occurrence.sequence);
        }
      }
      catalog.records.recordDeleted(store.id, deleted);
      await letOthersWork(undefined, { signal });
    }
  }

  /** Gives why one could not be made, which keeps none of the others from being written. */
  async #writeDue(store: ObjectStore, refused: RefusedRecords, signal: AbortSignal): Promise<Error | null> {
    const { catalog, finalHeight } = this.#modules;
    let fault: Error | null = null;
    for (let after: { height: number; transactionIndex: number } = BEGINNING; !signal.aborted; ) {
      const final = finalHeight();
      const due = final === null ? [] : catalog.records.due(store.id, after, final, GROUP);
      const last = due.at(-1);
      if (last === undefined) break;
      after = last;
      const written: DueRecord[] = [];
      for (const record of due) {
        const path = parseRecordPath(occurrenceKey(record));
        if (refused.isResting(path)) continue;
        // Its block may leave the branch at any time: then it is nobody's to make or to write.
        const isOurs = () => catalog.chain.blockAt(record.height)?.hash === record.blockHash;
        const text = isOurs() ? await this.#textOf(record, store, signal) : null;
        if (text === null || !isOurs()) continue;
        if (text instanceof Error) fault = text;
        else if (await refused.attempt(path, () => store.put({ path, text }, 'replace', signal), signal))
          written.push(record);
      }
      // What a reorganisation took while it was put is queued to be deleted, and does not count as written.
      catalog.records.recordWritten(store.id, written);
      await letOthersWork(undefined, { signal });
    }
    this.#lastRead = null;
    return fault;
  }

  async #textOf(due: DueRecord, store: ObjectStore, signal: AbortSignal): Promise<string | Error> {
    try {
      if (due.record !== UNMADE_RECORD) return completed(due, due.record);
      const [first, ...others] = this.#modules.stores.filter((other) => other !== store);
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
    const block = this.#modules.catalog.chain.blockAt(due.height);
    if (block?.hash !== due.blockHash) return null;
    try {
      const { medianTimeSeconds } = block;
      const record = await recordIn(store, { ...due, medianTimeSeconds }, due.sizeBytes, signal);
      return typeof record === 'string' ? null : encodeOccurrenceRecord(record);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof StorageError || error instanceof VerifyError) return null;
      throw error;
    }
  }

  async #make({ height, transactionIndex, blockHash: hash }: DueRecord, signal: AbortSignal): Promise<string | Error> {
    try {
      if (this.#lastRead?.hash !== hash) {
        this.#lastRead = readBlock(await this.#modules.node.rawBlock(hash, signal), hash, height);
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

function completed({ sizeBytes }: DueRecord, record: string): string {
  const value: unknown = JSON.parse(record);
  return encodeOccurrenceRecord({ ...decodeOccurrenceRecord(value), size: sizeBytes });
}

/** Where object lock keeps it, a tombstone beside it says which block it spoke of: the same name can be right later. */
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
    const beside = parseRecordPath(path.replace(/\.json$/, '.withdrawn.json'));
    await store.put({ path: beside, text: `${JSON.stringify(tombstone, null, 2)}\n` }, 'replace', signal);
  }
}
