import type { Catalog } from '../catalog/catalog.ts';
import { RECORDED_OCCURRENCES } from '../catalog/chain-index.ts';
import type { PlacedOccurrence } from '../catalog/occurrence-table.ts';
import type { ContentName } from '../core/blob/ids.ts';
import { StorageError } from '../storage/errors.ts';
import { type ObjectStore, readText } from '../storage/object-store.ts';
import { parseRecordPath } from '../storage/record-path.ts';
import { decodeOccurrenceRecord, parseOccurrenceRecord } from '../verify/decode-occurrence-record.ts';
import { VerifyError } from '../verify/errors.ts';
import { type OccurrenceRecord, occurrenceKey } from '../verify/occurrence-record.ts';
import { verifyOccurrence } from '../verify/verify-occurrence.ts';

export type ProofsFound =
  | { readonly kind: 'found'; readonly records: readonly OccurrenceRecord[] }
  | { readonly kind: 'none-final' }
  | { readonly kind: 'none-good'; readonly message: string };

type Recorded = ContentName & { readonly sizeBytes: number };

const NO_BYTES = new Uint8Array();

/** Gives out occurrence records that prove their claim and belong to a final block. */
export class OccurrenceProofs {
  readonly #catalog: Catalog;
  readonly #stores: readonly ObjectStore[];

  constructor(catalog: Catalog, stores: readonly ObjectStore[]) {
    this.#catalog = catalog;
    this.#stores = stores;
  }

  async of(contents: readonly Recorded[], finalHeight: number | null, signal: AbortSignal): Promise<ProofsFound> {
    const records: OccurrenceRecord[] = [];
    let message: string | null = null;
    for (const content of contents) {
      for (const occurrence of this.#catalog.chain.occurrences(content, null, RECORDED_OCCURRENCES)) {
        if (finalHeight === null || occurrence.height > finalHeight) break;
        const found = await this.recordOf(occurrence, content.sizeBytes, signal);
        if (typeof found === 'string') message ??= found;
        else records.push(found);
      }
    }
    if (records.length > 0) return { kind: 'found', records };
    return message === null ? { kind: 'none-final' } : { kind: 'none-good', message };
  }

  /** Proven; or why there is none. */
  async recordOf(
    occurrence: PlacedOccurrence,
    sizeBytes: number,
    signal: AbortSignal,
  ): Promise<OccurrenceRecord | string> {
    const unwritten = this.#catalog.answers.unwrittenRecord(occurrence.height, occurrence.transactionIndex);
    if (unwritten !== null) {
      const record = { ...decodeOccurrenceRecord(JSON.parse(unwritten)), size: sizeBytes };
      return proves(record, occurrence, sizeBytes) ? record : 'The record does not prove its occurrence.';
    }
    let why = 'No backend has the record.';
    for (const store of this.#stores) {
      try {
        const record = await recordIn(store, occurrence, sizeBytes, signal);
        if (record === 'none') continue;
        if (record !== 'wrong') return record;
        why = `The record in ${store.id} does not prove its occurrence.`;
      } catch (error) {
        if (!(error instanceof StorageError || error instanceof VerifyError)) throw error;
        why = error.message;
      }
    }
    return why;
  }
}

/**
 * Reads the record of this occurrence from a store.
 * @throws StorageError; VerifyError for a malformed record
 */
export async function recordIn(
  store: Pick<ObjectStore, 'get'>,
  occurrence: PlacedOccurrence,
  sizeBytes: number,
  signal: AbortSignal,
): Promise<OccurrenceRecord | 'none' | 'wrong'> {
  const text = await readText(store, parseRecordPath(occurrenceKey(occurrence)), signal);
  if (text === null) return 'none';
  const record = parseOccurrenceRecord(text);
  return proves(record, occurrence, sizeBytes) ? record : 'wrong';
}

/** Verifies everything except the bytes, which are not fetched here. */
function proves(record: OccurrenceRecord, occurrence: PlacedOccurrence, sizeBytes: number): boolean {
  const { versionHash, hashType, txid, vout, height, blockHash } = occurrence;
  const same =
    record.versionHash === versionHash &&
    record.hashType === hashType &&
    record.txid === txid &&
    record.vout === vout &&
    record.height === height &&
    record.blockHash === blockHash &&
    record.size === sizeBytes;
  return same && verifyOccurrence(NO_BYTES, record).steps.every(({ step, ok }) => step === 'bytes' || ok);
}
