import { LRUCache } from 'lru-cache';
import { type ContentName, HASH_TYPES, type NamedHash } from '../../core/blob/ids.ts';
import { firstGood } from '../../replication/first-good.ts';
import type { Site } from '../../replication/site.ts';
import { StorageError } from '../../storage/errors.ts';
import { VerifyError } from '../../verify/errors.ts';
import type { OccurrenceRecord } from '../../verify/occurrence-record.ts';
import type { VerifiedBlob } from '../../verify/verified-blob.ts';
import type { BlobLookup, Unavailable, UnavailableReason } from '../../view/archive-view.ts';
import type { ChainUnavailableReason, ProofLookup } from '../../view/chain-view.ts';
import type { ArchiverUpstream, RecordAnswer } from './archiver-upstream.ts';
import { isProven, proofsByPrefix } from './prefix-proofs.ts';
import type { WithheldNames } from './withheld-names.ts';

/** A backend that has not answered by then gets company. */
const HEDGE_MS = 500;
/** Names under way to the backends at a time: anybody can make names up. */
const MOST_UNDER_WAY = 256;
/** That every backend answered no is good for so long. */
const MISS_MS = 2_000;
const MISSES = 10_000;

interface Search {
  readonly blob: VerifiedBlob | null;
  readonly isDamaged: boolean;
  readonly fault: StorageError | null;
}

/** Bytes by derived key and proofs by prefix, of backends alone: no catalog, no data folder, nothing written. */
export class StatelessReader {
  readonly #sites: readonly Site[];
  readonly #withheld: WithheldNames;
  /** Asked for what no backend has; null: none is configured. */
  readonly #archiver: ArchiverUpstream | null;
  readonly #missedUntilMs = new LRUCache<string, number>({ max: MISSES });
  readonly #underWay = new Map<string, Promise<Search>>();

  constructor(sites: readonly Site[], withheld: WithheldNames, archiver: ArchiverUpstream | null) {
    this.#sites = sites;
    this.#withheld = withheld;
    this.#archiver = archiver;
  }

  async read(name: NamedHash, signal: AbortSignal): Promise<BlobLookup> {
    const refusal = this.refusal(name);
    if (refusal !== null) return refusal;
    let isDamaged = false;
    let fault: StorageError | null = null;
    for (const hashType of name.hashType === null ? HASH_TYPES : [name.hashType]) {
      const search = await this.#shared({ hashType, versionHash: name.versionHash }, signal);
      if (search === null) return unavailable('cannot-tell', 'Too many names are asked for now.', 2);
      if (search.blob !== null) return { kind: 'found', blob: search.blob };
      isDamaged ||= search.isDamaged;
      fault ??= search.fault;
    }
    const upstream = (await this.#archiver?.read(name, signal)) ?? null;
    // A backend that did not answer, or has a damaged copy under that name, contradicts "absent", whoever says it.
    const isDoubtful = upstream?.kind === 'absent' && (fault !== null || isDamaged);
    if (upstream !== null && !isDoubtful) return upstream;
    if (fault !== null) return unavailable('store-fault', 'A backend does not answer, and no other has it.', 10);
    if (isDamaged) return unavailable('damaged', 'The copy in the backend is damaged.', 30);
    return unavailable('cannot-tell', 'No backend has it here, and this reader has no archiver to ask.', 30);
  }

  /** Before anything is served, from memory or elsewhere; null: nothing forbids it. */
  refusal(name: NamedHash): Exclude<BlobLookup, { kind: 'found' }> | null {
    const found = this.#withheld.find(name);
    if (found !== null) return { kind: 'withheld', ...found };
    const [unread] = this.#withheld.unread;
    if (unread === undefined) return null;
    return unavailable('cannot-tell', 'It is not known yet what may not be served.', 5);
  }

  /** The first final occurrences, as archivers wrote them down; bytes are fetched too, for a record says their number. */
  async proofs(name: NamedHash, signal: AbortSignal): Promise<ProofLookup> {
    const lookup = await this.read(name, signal);
    if (lookup.kind === 'withheld') return lookup;
    if (lookup.kind !== 'found') return notProven('not-walked', 'The bytes cannot be had here; ask the archiver.', 30);
    const { blob } = lookup;
    const records = new Map<string, OccurrenceRecord>();
    let fault: StorageError | null = null;
    for (const site of this.#sites) {
      const { store } = site;
      if (!store.properties.holds.has('record')) continue;
      try {
        site.admit();
        const found = await site.judged(() => proofsByPrefix(store, blob, blob.bytes.length, signal), signal);
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

  /** What the archiver says of it; null: there is none to ask. */
  async record(name: NamedHash, after: string | undefined, signal: AbortSignal): Promise<RecordAnswer | null> {
    const refusal = this.refusal(name);
    if (refusal?.kind === 'withheld') return refusal;
    if (this.#archiver === null) return null;
    const answer = await this.#archiver.record(name, after, signal);
    if (answer.kind !== 'absent') return answer;
    // Absent is what the backends say as well, or it is not said.
    const lookup = await this.read(name, signal);
    if (lookup.kind !== 'found') return lookup;
    return unavailable('cannot-tell', 'A backend has it, and the archiver knows nothing of it yet.', 30);
  }

  async #provenUpstream(archiver: ArchiverUpstream, blob: VerifiedBlob, signal: AbortSignal): Promise<ProofLookup> {
    const { hashType, versionHash, bytes } = blob;
    const lookup = await archiver.proofs({ hashType, versionHash }, signal);
    if (lookup.kind !== 'found') return lookup;
    const good = lookup.records.filter(
      (record) =>
        record.versionHash === versionHash &&
        record.hashType === hashType &&
        record.size === bytes.length &&
        isProven(record),
    );
    if (good.length === lookup.records.length && good.length > 0) return { kind: 'found', records: good };
    return notProven('store-fault', 'What the archiver gave proves nothing.', 30);
  }

  /** Who asks for what is being fetched already waits for the same; null: too much is under way. */
  async #shared(name: ContentName, signal: AbortSignal): Promise<Search | null> {
    const key = `${name.hashType}/${name.versionHash}`;
    if ((this.#missedUntilMs.get(key) ?? 0) > performance.now()) return { blob: null, isDamaged: false, fault: null };
    let search = this.#underWay.get(key);
    if (search === undefined) {
      if (this.#underWay.size >= MOST_UNDER_WAY) return null;
      // Not the signal of the one who came first: others may be waiting. Every store has a deadline of its own.
      search = this.#search(name, new AbortController().signal).finally(() => this.#underWay.delete(key));
      this.#underWay.set(key, search);
    }
    return await untilGone(search, signal);
  }

  async #search(name: ContentName, signal: AbortSignal): Promise<Search> {
    let isDamaged = false;
    let fault: StorageError | null = null;
    const attempts = this.#sites
      .toSorted((a, b) => a.expectedMs - b.expectedMs)
      .map((site) => async (stopped: AbortSignal) => {
        try {
          site.admit();
          const finding = await site.read(name, stopped);
          if (finding.kind === 'good') return finding.blob;
          isDamaged ||= finding.kind === 'damaged';
        } catch (error) {
          stopped.throwIfAborted();
          if (!(error instanceof StorageError)) throw error;
          fault ??= error;
        }
        return null;
      });
    const blob = await firstGood(attempts, HEDGE_MS, signal);
    if (blob === null && !isDamaged && fault === null) {
      this.#missedUntilMs.set(`${name.hashType}/${name.versionHash}`, performance.now() + MISS_MS);
    }
    return { blob, isDamaged, fault };
  }
}

/** Rejects with the signal's reason when its client goes away; the work goes on for others. */
function untilGone<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const gone = () => reject(signal.reason);
    signal.addEventListener('abort', gone, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', gone));
  });
}

function inOrder(records: readonly OccurrenceRecord[]): OccurrenceRecord[] {
  return records.toSorted((a, b) => a.height - b.height || a.vout - b.vout);
}

function unavailable(reason: UnavailableReason, message: string, retryAfterSeconds: number): Unavailable {
  return { kind: 'unavailable', reason, message, retryAfterSeconds };
}

function notProven(reason: ChainUnavailableReason, message: string, retryAfterSeconds: number): ProofLookup {
  return { kind: 'unavailable', reason, message, retryAfterSeconds };
}
