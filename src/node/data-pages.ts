import type { VersionHash } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES, MIN_BLOB_BYTES } from '../core/blob/limits.ts';
import type { Clock } from '../core/time/clock.ts';
import { type AnsweredBlob, blobOf, type RequestedBlob, readBlobAnswer } from './blob-answer.ts';
import { NodeError } from './errors.ts';
import type { ReadablePage } from './list-answer.ts';
import { isObject, readEnvelope, resultOf } from './rpc-answer.ts';
import { encodeCall } from './rpc-request.ts';
import type { NodeTransport } from './transport.ts';

const LIST = 'listnevmblobdata';
/** Limits of one page, unrequested entries included. */
const PAGE = { bytes: 4 * 1_048_576, entries: 256 } as const;
/** Bytes by which a page may exceed the listed sizes. */
const SLACK_BYTES = 1_048_576;
/**
 * Unrequested bytes that a page may carry for each get that it saves. Copying them takes the node 1 ms, a get 60 ms.
 */
const WASTE_BYTES = 65_536;
/** Bytes of an entry besides its data. */
const ENTRY_BYTES = 1_024;
/** Milliseconds of single gets after a node refused a page. */
const REST_MS = 600_000;

interface Place {
  readonly at: number;
  readonly sizeBytes: number;
}

/** A range of the list that contains the blobs `requested`. */
interface Stretch {
  readonly from: number;
  readonly count: number;
  readonly bytes: number;
  readonly wanted: readonly RequestedBlob[];
}

/**
 * Fetches pages of the list with data, in dialects that have them (the specification and release 4.4). A page costs the
 * node far less than single gets. The place of a blob in the last listing is only a hint. A blob that a page lacks is
 * fetched alone, and is never called absent for that.
 */
export class DataPages {
  readonly #transport: NodeTransport;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  #places = new Map<VersionHash, Place>();
  /** Listed sizes by place. */
  #sizes: number[] = [];
  /**
   * true for release 4.4. There a page costs the node every entry before its end, whatever `from` is: it encodes those in
   * its memory for nothing, and sends those in its store again. So each page begins with the first entry.
   */
  #paysFromFirst = false;
  /** false for release 5, which lists txids and no data. */
  #hasPages = false;
  #restUntilMs = 0;

  constructor(transport: NodeTransport, clock: Pick<Clock, 'steadyMs'>) {
    this.#transport = transport;
    this.#clock = clock;
  }

  /** Notes a page of the list that begins at `from`. */
  noteListed({ entries, unreadable, hasMpt }: ReadablePage, from: number): void {
    if (from === 0) this.#forget();
    this.#hasPages = entries.every(({ txid }) => txid === null) && (from === 0 || this.#hasPages);
    this.#paysFromFirst = hasMpt || (from > 0 && this.#paysFromFirst);
    // The places after a malformed entry are unknown.
    if (!this.#hasPages || unreadable > 0) {
      this.#forget();
      return;
    }
    let at = from;
    for (const { versionHash, sizeBytes } of entries) {
      if (this.#places.has(versionHash)) continue;
      this.#places.set(versionHash, { at, sizeBytes });
      this.#sizes[at] = sizeBytes;
      at += 1;
    }
  }

  /**
   * Fetches unverified bytes by pages. Rejects with the signal's reason only; blobs without a result are fetched alone.
   */
  async fetch(wanted: readonly RequestedBlob[], firstByteMs: number, signal: AbortSignal) {
    const found = new Map<VersionHash, AnsweredBlob>();
    for (const stretch of this.#stretches(wanted)) {
      try {
        const brought = await this.#page(stretch, firstByteMs, signal);
        for (const [versionHash, blob] of brought) found.set(versionHash, blob);
        if (brought.size > 0) continue;
        // The list has changed, so its places are unknown until the next listing.
        this.#forget();
        break;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof NodeError)) throw error;
        this.#rest();
        break;
      }
    }
    return found;
  }

  #mayAsk(): boolean {
    return this.#hasPages && this.#clock.steadyMs() >= this.#restUntilMs;
  }

  #rest(): void {
    this.#restUntilMs = this.#clock.steadyMs() + REST_MS;
  }

  #forget(): void {
    this.#places = new Map();
    this.#sizes = [];
  }

  #stretches(wanted: readonly RequestedBlob[]): Stretch[] {
    if (!this.#mayAsk()) return [];
    // A blob that failed before is fetched alone, because the page may be the reason.
    const placed = wanted.flatMap((one) => {
      const place = (one.attempts ?? 0) > 0 ? undefined : this.#places.get(one.versionHash);
      return place === undefined || !isBlobSize(place.sizeBytes) ? [] : [{ one, at: place.at }];
    });
    const inOrder = placed.toSorted((a, b) => a.at - b.at);
    if (this.#paysFromFirst) return this.#longestFromFirst(inOrder);
    const stretches: Stretch[] = [];
    for (const { one, at } of inOrder) {
      const last = stretches.at(-1);
      const longer = last === undefined ? null : this.#stretch(last.from, at, [...last.wanted, one]);
      if (longer !== null) stretches[stretches.length - 1] = longer;
      else {
        const alone = this.#stretch(at, at, [one]);
        if (alone !== null) stretches.push(alone);
      }
    }
    return stretches;
  }

  /** Returns the longest page from the first entry on that costs no more than it saves. */
  #longestFromFirst(inOrder: readonly { readonly one: RequestedBlob; readonly at: number }[]): Stretch[] {
    const wanted = inOrder.map(({ one }) => one);
    const pages = inOrder.flatMap(({ at }, index) => this.#stretch(0, at, wanted.slice(0, index + 1)) ?? []);
    return pages.slice(-1);
  }

  /** Returns null when a page would cost more than it saves. */
  #stretch(from: number, last: number, wanted: readonly RequestedBlob[]): Stretch | null {
    const count = last - from + 1;
    if (count > PAGE.entries) return null;
    const bytes = this.#bytesOf(from, last + 1);
    const needed = wanted.reduce((sum, { versionHash }) => sum + (this.#places.get(versionHash)?.sizeBytes ?? 0), 0);
    if (bytes > PAGE.bytes || bytes - needed > WASTE_BYTES * wanted.length) return null;
    return { from, count, bytes, wanted };
  }

  #bytesOf(from: number, to: number): number {
    return this.#sizes.slice(from, to).reduce((sum, sizeBytes) => sum + sizeBytes, 0);
  }

  async #page({ from, count, bytes, wanted }: Stretch, firstByteMs: number, signal: AbortSignal) {
    const limitBytes = (bytes + SLACK_BYTES) * 2 + count * ENTRY_BYTES;
    const body = encodeCall(LIST, LIST, [count, from, { getdata: true }]);
    const request = { effect: 'read' as const, wallet: null, body, limitBytes, firstByteMs, signal };
    return await this.#transport.send(request, (answer) => {
      const decoded = readBlobAnswer(answer, wanted);
      const listed = resultOf(readEnvelope(decoded.value), LIST, LIST);
      const entries: readonly unknown[] = Array.isArray(listed) ? listed : [];
      const asked = new Map<unknown, RequestedBlob>(wanted.map((one) => [one.versionHash, one]));
      const brought = new Map<VersionHash, AnsweredBlob>();
      let withData = 0;
      for (const entry of entries) {
        if (!isObject(entry) || typeof entry['data'] !== 'string') continue;
        withData += 1;
        const name = entry['versionhash'];
        const one = asked.get(typeof name === 'string' ? name.toLowerCase() : name);
        const blob = one === undefined || brought.has(one.versionHash) ? null : readable(entry, one, decoded);
        if (one !== undefined && blob !== null) brought.set(one.versionHash, blob);
      }
      if (withData < entries.length) this.#rest();
      return brought;
    });
  }
}

/** Returns null for a malformed entry; a single get then reports the reason. */
function readable(...entry: Parameters<typeof blobOf>): AnsweredBlob | null {
  try {
    return blobOf(...entry);
  } catch (error) {
    if (error instanceof NodeError) return null;
    throw error;
  }
}

function isBlobSize(sizeBytes: number): boolean {
  return sizeBytes >= MIN_BLOB_BYTES && sizeBytes <= MAX_BLOB_BYTES;
}
