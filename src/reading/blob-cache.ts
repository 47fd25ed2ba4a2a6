import { LRUCache } from 'lru-cache';
import { atMost } from '../core/at-most.ts';
import { type ContentName, HASH_TYPES, type NamedHash } from '../core/blob/ids.ts';
import { withinMemory } from '../core/memory-share.ts';
import type { Clock } from '../core/time/clock.ts';
import type { UnverifiedBlob, VerifiedBlob } from '../verify/verified-blob.ts';
import type { Sending } from '../view/archive-view.ts';

/** Blobs that were asked for often enough to be worth their memory. */
const WORTH_IT = 3;
const REMEMBERED = 20_000;
/** A small blob is a row, and hashed whenever it is read: it is kept at once. */
const SMALL_BYTES = 65_536;
/** Milliseconds from the first sent byte for which a reader may keep an evicted blob in memory. */
const LOAN_MS = 10_000;
/** Milliseconds for which an answer with a lent blob may be prepared: a list of blobs from a remote backend. */
const PREPARING_MS = 60_000;

interface Loan {
  /** Time from which the loan can be recalled. */
  dueMs: number;
  readonly sending: Sending;
}

/**
 * Hashed blobs in this process's own memory, up to a number of bytes; the least recently used one is evicted first. No
 * other code can change these bytes, so they are never hashed again. Answers borrow them: a thousand readers of one
 * blob hold it once. A borrowed blob is not evicted, so that all memory in use is counted.
 */
export class BlobCache {
  readonly #blobs: LRUCache<string, VerifiedBlob> | null;
  readonly #maxBytes: number;
  readonly #asked = new LRUCache<string, number>(atMost(REMEMBERED));
  readonly #loans = new Map<string, Set<Loan>>();
  readonly #clock: Pick<Clock, 'steadyMs'>;

  /** 0: nothing is kept. No more is kept than the memory of the process allows. */
  constructor(expectedBytes: number, clock: Pick<Clock, 'steadyMs'>) {
    this.#maxBytes = withinMemory(expectedBytes);
    this.#clock = clock;
    this.#blobs = this.#maxBytes === 0 ? null : new LRUCache({ maxSize: this.#maxBytes, sizeCalculation: sizeOf });
  }

  get({ versionHash, hashType }: NamedHash): VerifiedBlob | null {
    if (this.#blobs === null) return null;
    for (const type of hashType === null ? HASH_TYPES : [hashType]) {
      const found = this.#blobs.get(`${type}/${versionHash}`);
      if (found !== undefined) return found;
    }
    return null;
  }

  /**
   * Reports whether the blob is requested often. One request is not enough: a client that copies the whole archive
   * would evict every other blob.
   */
  wants(name: ContentName, sizeBytes: number): boolean {
    if (this.#blobs === null) return false;
    if (sizeBytes <= SMALL_BYTES) return true;
    const key = keyOf(name);
    const times = (this.#asked.get(key) ?? 0) + 1;
    this.#asked.set(key, times);
    return times >= WORTH_IT;
  }

  /** Without counting as asked for. */
  copyOf(name: ContentName): UnverifiedBlob | null {
    const { hashType, versionHash } = name;
    const found = this.#blobs?.peek(keyOf(name));
    // `slice` of a Buffer copies nothing, and verification detaches the memory of its copy.
    return found === undefined ? null : { hashType, versionHash, bytes: new Uint8Array(found.bytes) };
  }

  /** The blob as it is kept: one that was kept before stays. null: there is no room, for readers hold what would make it. */
  keep(blob: VerifiedBlob): VerifiedBlob | null {
    if (this.#blobs === null) return null;
    const key = keyOf(blob);
    const before = this.#blobs.get(key);
    if (before !== undefined) return before;
    if (!this.#makeRoom(this.#blobs, sizeOf(blob))) return null;
    this.#blobs.set(key, blob);
    return blob;
  }

  /** A lent blob stays until the answer is sent. */
  lend(kept: ContentName, sending: Sending): void {
    const key = keyOf(kept);
    const loans = this.#loans.get(key) ?? new Set();
    const loan: Loan = { dueMs: this.#clock.steadyMs() + PREPARING_MS, sending };
    loans.add(loan);
    this.#loans.set(key, loans);
    sending.whenBegun(() => {
      loan.dueMs = this.#clock.steadyMs() + LOAN_MS;
    });
    sending.whenSent(() => {
      loans.delete(loan);
      if (loans.size === 0 && this.#loans.get(key) === loans) this.#loans.delete(key);
    });
  }

  /** Makes all of the room or none: no blob is evicted in vain. */
  #makeRoom(blobs: LRUCache<string, VerifiedBlob>, bytes: number): boolean {
    const leaving: string[] = [];
    let held = blobs.calculatedSize + bytes;
    for (const key of blobs.rkeys()) {
      if (held <= this.#maxBytes) break;
      const blob = blobs.peek(key);
      if (blob === undefined || !this.#mayLeave(key)) continue;
      leaving.push(key);
      held -= sizeOf(blob);
    }
    if (held > this.#maxBytes) return false;
    for (const key of leaving) {
      for (const { sending } of [...(this.#loans.get(key) ?? [])]) sending.cut();
      blobs.delete(key);
    }
    return true;
  }

  /** Every reader of the blob has had its time. */
  #mayLeave(key: string): boolean {
    const nowMs = this.#clock.steadyMs();
    return [...(this.#loans.get(key) ?? [])].every(({ dueMs }) => dueMs <= nowMs);
  }
}

function keyOf({ hashType, versionHash }: ContentName): string {
  return `${hashType}/${versionHash}`;
}

function sizeOf({ bytes }: VerifiedBlob): number {
  return Math.max(bytes.length, 1);
}
