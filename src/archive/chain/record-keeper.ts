import { codeOf } from '../../blob/errors.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { type DueRecord, UNMADE_RECORD, type WithdrawnOccurrence } from '../../catalog/record-outbox.ts';
import { parseRecordPath, type RecordStore } from '../../storage/record-store.ts';
import { decodeOccurrenceRecord } from '../../verify/decode-occurrence-record.ts';
import { encodeOccurrenceRecord, occurrenceKey } from '../../verify/occurrence-record.ts';
import type { ConditionBoard } from '../condition-board.ts';
import { Pulse } from '../pulse.ts';
import type { ChainNode } from './chain-node.ts';
import { type ProvenBlock, readBlock } from './read-block.ts';

export interface RecordModules {
  readonly catalog: Catalog;
  /** Every backend with names. A record is done when all of them have it. */
  readonly stores: readonly RecordStore[];
  readonly conditions: ConditionBoard;
  /** Up to here everything on our branch is final now; null: nothing is. */
  readonly finalHeight: () => number | null;
  /** Asked for the blocks of records that were not made when they were walked. */
  readonly node: ChainNode;
  /** Rings when more may be final, or spooled. */
  readonly news: Pulse;
}

const GROUP = 64;
const IDLE_MS = 5_000;
const RETRY_MS = 15_000;
const BEGINNING = { height: -1, transactionIndex: -1 } as const;

/** Writes the record of each final occurrence to every backend with names, and deletes those that were withdrawn. */
export class RecordKeeper {
  readonly #modules: RecordModules;
  readonly #pause = new Pulse();
  /** The block that was read last: what is due comes in the order of the chain. */
  #lastRead: ProvenBlock | null = null;

  constructor(modules: RecordModules) {
    this.#modules = modules;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { news } = this.#modules;
      const rings = news.rings;
      try {
        await this.#deleteWithdrawn(signal);
        await this.#writeDue(signal);
        this.#lastRead = null;
        this.#modules.conditions.set('chain:records', null);
      } catch (error) {
        if (signal.aborted) return;
        // Bytes are archived and served all the same: told, but the archive is ready.
        this.#modules.conditions.setError('chain:records', error, false);
        await this.#pause.wait(RETRY_MS, signal);
      }
      if (news.rings === rings) await news.wait(IDLE_MS, signal);
    }
  }

  /** Before anything is written: the same transaction can be final again under the same name, in another block. */
  async #deleteWithdrawn(signal: AbortSignal): Promise<void> {
    const { catalog, stores } = this.#modules;
    for (;;) {
      const withdrawn = catalog.records.undeleted(GROUP);
      if (withdrawn.length === 0) return;
      for (const occurrence of withdrawn) for (const store of stores) await deleteFrom(store, occurrence, signal);
      catalog.records.recordDeleted(withdrawn.map(({ sequence }) => sequence));
    }
  }

  async #writeDue(signal: AbortSignal): Promise<void> {
    const { catalog, stores, finalHeight } = this.#modules;
    for (let after: { height: number; transactionIndex: number } = BEGINNING; !signal.aborted; ) {
      const final = finalHeight();
      const due = final === null ? [] : catalog.records.due(after, final, GROUP);
      const last = due.at(-1);
      if (last === undefined) return;
      after = last;
      for (const record of due) {
        const { path, text } = completed(record, await this.#recordOf(record, signal));
        for (const store of stores) await store.putRecord(path, text, signal);
      }
      // A reorganisation meanwhile took the rows, and queued the deletion of what was just written.
      catalog.records.recordWritten(due);
    }
  }

  async #recordOf({ record, height, transactionIndex }: DueRecord, signal: AbortSignal): Promise<string> {
    if (record !== UNMADE_RECORD) return record;
    const hash = this.#modules.catalog.chain.blockAt(height)?.hash;
    if (hash === undefined) throw new RangeError(`block ${height} left the branch while its record was made`);
    if (this.#lastRead?.hash !== hash) {
      this.#lastRead = readBlock(await this.#modules.node.rawBlock(hash, signal), hash, height);
    }
    const { occurrences } = this.#lastRead;
    const occurrence = occurrences.find((one) => one.transactionIndex === transactionIndex);
    if (occurrence === undefined)
      throw new RangeError(`block ${height} has no blob in transaction ${transactionIndex}`);
    return occurrence.makeRecord();
  }
}

function completed({ sizeBytes }: DueRecord, record: string) {
  const value: unknown = JSON.parse(record);
  const complete = { ...decodeOccurrenceRecord(value), size: sizeBytes };
  return { path: parseRecordPath(occurrenceKey(complete)), text: encodeOccurrenceRecord(complete) };
}

/** Where object lock keeps it, a tombstone beside it says which block it spoke of: the same name can be right later. */
async function deleteFrom(store: RecordStore, occurrence: WithdrawnOccurrence, signal: AbortSignal): Promise<void> {
  const path = parseRecordPath(occurrenceKey(occurrence));
  try {
    await store.deleteRecord(path, signal);
  } catch (error) {
    if (codeOf(error) !== 'storage/locked') throw error;
    const tombstone = { version: 1, withdrawn: true, blockHash: occurrence.blockHash };
    const beside = parseRecordPath(path.replace(/\.json$/, '.withdrawn.json'));
    await store.putRecord(beside, `${JSON.stringify(tombstone, null, 2)}\n`, signal);
  }
}
