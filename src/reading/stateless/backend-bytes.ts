import { LRUCache } from 'lru-cache';
import { atMost } from '../../core/at-most.ts';
import { type ContentName, HASH_TYPES, type NamedHash } from '../../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';
import { firstGood } from '../../core/first-good.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { BackendHandle } from '../../replication/backend-handle.ts';
import { StorageError } from '../../storage/errors.ts';
import type { VerifiedBlob } from '../../verify/verified-blob.ts';
import type { Asking, NotGiven, Unavailable, UnavailableReason } from '../../view/archive-view.ts';
import type { BlobFinder, BlobLookup } from '../proven-reader.ts';
import type { ArchiverUpstream } from './archiver-upstream.ts';

/** Milliseconds after which the next backend is asked in parallel. */
const HEDGE_MS = 500;
/** Names under way to the backends at a time: anybody can make names up. */
const MAX_UNDER_WAY = 256;
/** Milliseconds for which the absence on every backend is reused. */
const MISS_MS = 2_000;
const MISSES = 10_000;

interface Search {
  readonly blob: VerifiedBlob | null;
  readonly isDamaged: boolean;
  readonly fault: StorageError | null;
}

/** Bytes by derived key, of backends alone; what they have not got, an archiver may have. */
export class BackendBytes implements BlobFinder {
  readonly #sites: readonly BackendHandle[];
  /** Archiver to ask for content that no backend has; null when none is configured. */
  readonly #archiver: ArchiverUpstream | null;
  readonly #missedUntilMs = new LRUCache<string, number>(atMost(MISSES));
  readonly #clock: Pick<Clock, 'steadyMs'>;
  readonly #underWay = new Map<string, Promise<Search>>();

  constructor(sites: readonly BackendHandle[], archiver: ArchiverUpstream | null, clock: Pick<Clock, 'steadyMs'>) {
    this.#sites = sites;
    this.#clock = clock;
    this.#archiver = archiver;
  }

  /** There is no file here. */
  async provenFile(): Promise<null> {
    return null;
  }

  async find(name: NamedHash, { signal, hold }: Asking): Promise<BlobLookup> {
    await hold(MAX_BLOB_BYTES);
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
    // A backend that did not answer, or has a damaged copy, contradicts every claim of absence.
    const isDoubtful = upstream?.kind === 'absent' && (fault !== null || isDamaged);
    if (upstream !== null && !isDoubtful) return upstream;
    if (fault !== null) return unavailable('store-fault', 'A backend does not answer, and no other has it.', 10);
    if (isDamaged) return unavailable('damaged', 'The copy in the backend is damaged.', 30);
    return unavailable('cannot-tell', 'No backend has it here, and this reader has no archiver to ask.', 30);
  }

  /** Only a catalog knows the keccak256 hashes of a version hash. */
  async findCustom(): Promise<NotGiven> {
    return unavailable('cannot-tell', 'This reader has no catalog; ask the archiver.', 60);
  }

  /** Joins the fetch of the same content that is under way. Returns null when too many are under way. */
  async #shared(name: ContentName, signal: AbortSignal): Promise<Search | null> {
    const key = `${name.hashType}/${name.versionHash}`;
    if ((this.#missedUntilMs.get(key) ?? 0) > this.#clock.steadyMs())
      return { blob: null, isDamaged: false, fault: null };
    let search = this.#underWay.get(key);
    if (search === undefined) {
      if (this.#underWay.size >= MAX_UNDER_WAY) return null;
      // The first caller's signal must not end the search: other callers may wait for it. Every store has its own
      // timeout.
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
      this.#missedUntilMs.set(`${name.hashType}/${name.versionHash}`, this.#clock.steadyMs() + MISS_MS);
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

function unavailable(reason: UnavailableReason, message: string, retryAfterSeconds: number): Unavailable {
  return { kind: 'unavailable', reason, message, retryAfterSeconds };
}
