import type { ContentName, NamedHash } from '../../core/blob/ids.ts';
import type { BackendHandle } from '../../replication/backend-handle.ts';
import { StorageError } from '../../storage/errors.ts';
import { VerifyError } from '../../verify/errors.ts';
import type { OccurrenceRecord } from '../../verify/occurrence-record.ts';
import { type NotGiven, type Reader, ROOM_IS_MADE } from '../../view/archive-view.ts';
import type { ChainUnavailableReason, ProofLookup } from '../../view/chain-view.ts';
import type { Gate } from '../gate.ts';
import type { ArchiverUpstream, RecordAnswer } from './archiver-upstream.ts';
import { isProven, proofsByPrefix } from './prefix-proofs.ts';

interface SizedContent extends ContentName {
  readonly sizeBytes: number;
}

/** Reader over backends alone: without a catalog or a data folder, it writes nothing. */
export class StatelessReader {
  readonly #gate: Gate;
  readonly #reader: Reader;
  readonly #sites: readonly BackendHandle[];
  /** null: none is configured. */
  readonly #archiver: ArchiverUpstream | null;

  constructor(gate: Gate, reader: Reader, sites: readonly BackendHandle[], archiver: ArchiverUpstream | null) {
    this.#gate = gate;
    this.#reader = reader;
    this.#sites = sites;
    this.#archiver = archiver;
  }

  /** The first final occurrences, as archivers wrote them down; bytes are fetched too, for a record says their number. */
  async proofs(name: NamedHash, signal: AbortSignal): Promise<ProofLookup> {
    const blob = await this.#sized(name, signal);
    if ('kind' in blob && blob.kind === 'withheld') return blob;
    if ('kind' in blob) return notProven('not-walked', 'The bytes cannot be had here; ask the archiver.', 30);
    const records = new Map<string, OccurrenceRecord>();
    let fault: StorageError | null = null;
    for (const site of this.#sites) {
      const { store } = site;
      if (!store.properties.holds.has('record')) continue;
      try {
        site.admit();
        const found = await site.judged(() => proofsByPrefix(store, blob, blob.sizeBytes, signal), signal);
        for (const record of found) records.set(`${record.blockHash}/${record.txid}/${record.vout}`, record);
      } catch (error) {
        if (!(error instanceof StorageError || error instanceof VerifyError)) throw error;
        if (error instanceof StorageError) fault ??= error;
      }
    }
    if (records.size > 0) return { kind: 'found', records: inOrder([...records.values()]) };
    if (this.#archiver !== null) return await this.#provenUpstream(this.#archiver, blob, signal);
    if (fault !== null) return notProven('store-fault', 'A backend does not answer, and no other has a record.', 10);
    return notProven('not-final', 'No backend has a record of it; it may not be final yet.', 60);
  }

  /** Asks the archiver for its record; null when no archiver is configured. */
  async record(name: NamedHash, after: string | undefined, signal: AbortSignal): Promise<RecordAnswer | null> {
    const refusal = this.#gate.refusal(name);
    if (refusal !== null) return refusal;
    if (this.#archiver === null) return null;
    const answer = await this.#archiver.record(name, after, signal);
    if (answer.kind !== 'absent') return answer;
    // Absent is what the backends say as well, or it is not said.
    const blob = await this.#sized(name, signal);
    if ('kind' in blob) return blob;
    const message = 'A backend has it, and the archiver knows nothing of it yet.';
    return { kind: 'unavailable', reason: 'cannot-tell', message, retryAfterSeconds: 30 };
  }

  /** Resolves a name to its content and size, proven by the bytes of a backend. */
  async #sized(name: NamedHash, signal: AbortSignal): Promise<SizedContent | NotGiven> {
    const given = await this.#reader.open(name, { ...ROOM_IS_MADE, signal });
    switch (given.kind) {
      case 'memory':
        return {
          hashType: given.blob.hashType,
          versionHash: given.blob.versionHash,
          sizeBytes: given.blob.bytes.length,
        };
      case 'file':
        given.file.close();
        return given.file;
      default:
        return given;
    }
  }

  async #provenUpstream(archiver: ArchiverUpstream, blob: SizedContent, signal: AbortSignal): Promise<ProofLookup> {
    const { hashType, versionHash, sizeBytes } = blob;
    const lookup = await archiver.proofs({ hashType, versionHash }, signal);
    if (lookup.kind !== 'found') return lookup;
    const good = lookup.records.filter(
      (record) =>
        record.versionHash === versionHash &&
        record.hashType === hashType &&
        record.size === sizeBytes &&
        isProven(record),
    );
    if (good.length === lookup.records.length && good.length > 0) return { kind: 'found', records: good };
    return notProven('store-fault', 'What the archiver gave proves nothing.', 30);
  }
}

function inOrder(records: readonly OccurrenceRecord[]): OccurrenceRecord[] {
  return records.toSorted((a, b) => a.height - b.height || a.vout - b.vout);
}

function notProven(reason: ChainUnavailableReason, message: string, retryAfterSeconds: number): ProofLookup {
  return { kind: 'unavailable', reason, message, retryAfterSeconds };
}
