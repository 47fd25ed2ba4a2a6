import { LRUCache } from 'lru-cache';
import type { Catalog } from '../catalog/catalog.ts';
import { atMost } from '../core/at-most.ts';
import { parseBoundedJson } from '../core/blob/bounded-json.ts';
import { HoldfastError } from '../core/blob/errors.ts';
import type { ContentName, TxId } from '../core/blob/ids.ts';
import { decodeOccurrenceRecord } from '../verify/decode-occurrence-record.ts';
import type { OccurrenceRecord } from '../verify/occurrence-record.ts';
import { verifyOccurrence } from '../verify/verify-occurrence.ts';

/** Evidence in a record for a blob whose bytes are still to come. */
export interface ProvenName {
  readonly txid: TxId;
  readonly sizeBytes: number;
}

/**
 * Records of an import that are remembered until their blobs come: the newest. Some tens of megabytes at most.
 */
const REMEMBERED = 100_000;
const NO_BYTES = new Uint8Array();
const BRACE = 0x7b;

/** The names that occurrence records of an import show in a header. */
export class ProvenNames {
  readonly #chain: Pick<Catalog['chain'], 'blockAt'>;
  readonly #proven = new LRUCache<string, ProvenName>(atMost(REMEMBERED));
  #count = 0;

  constructor(chain: Pick<Catalog['chain'], 'blockAt'>) {
    this.#chain = chain;
  }

  /** Records that hold. */
  get count(): number {
    return this.#count;
  }

  find({ hashType, versionHash }: ContentName, sizeBytes: number): ProvenName | null {
    const found = this.#proven.get(`${hashType}/${versionHash}`);
    return found?.sizeBytes === sizeBytes ? found : null;
  }

  /** Takes what an archive writes as a record, or answers to `/proof`. Gives why it shows nothing; null: it holds. */
  take(text: string): string | null {
    const held = this.remember(text);
    if (typeof held === 'string') return held;
    this.#count += held;
    return null;
  }

  /** The same for a text that is still to be taken: gives how many records it holds, or why it shows nothing. */
  remember(text: string): number | string {
    const records = recordsIn(text);
    if (typeof records === 'string') return records;
    for (const record of records) {
      const why = this.#fault(record);
      if (why !== null) return why;
      const { hashType, versionHash, txid, size: sizeBytes } = record;
      this.#proven.set(`${hashType}/${versionHash}`, { txid, sizeBytes });
    }
    return records.length;
  }

  #fault(record: OccurrenceRecord): string | null {
    const failed = verifyOccurrence(NO_BYTES, record).steps.find(({ step, ok }) => step !== 'bytes' && !ok);
    if (failed !== undefined) return failed.says;
    const ours = this.#chain.blockAt(record.height);
    if (ours === null || ours.hash === record.blockHash) return null;
    return `It speaks of block ${record.blockHash} at height ${record.height}; the chain that was walked has ${ours.hash} there.`;
  }
}

/** Reports whether the bytes may be a record. A blob may begin in the same way: its hash decides. */
export function looksLikeRecord(bytes: Uint8Array): boolean {
  return bytes[0] === BRACE;
}

function recordsIn(text: string): readonly OccurrenceRecord[] | string {
  try {
    const value = parseBoundedJson(text);
    const several = typeof value === 'object' && value !== null && 'records' in value ? value.records : null;
    return (Array.isArray(several) ? several : [value]).map(decodeOccurrenceRecord);
  } catch (error) {
    if (error instanceof HoldfastError || error instanceof SyntaxError || error instanceof RangeError) {
      return error.message;
    }
    throw error;
  }
}
