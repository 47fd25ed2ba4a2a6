import type { VersionHash } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES, MIN_BLOB_BYTES } from '../core/blob/limits.ts';
import { type AnsweredBlob, blobOf, readBlobAnswer, type WantedBlob } from './blob-answer.ts';
import { NodeError } from './errors.ts';
import type { ReadablePage } from './list-answer.ts';
import { isObject, readEnvelope, resultOf } from './rpc-answer.ts';
import { encodeCall } from './rpc-request.ts';
import type { NodeTransport } from './transport.ts';

const LIST = 'listnevmblobdata';
/** Of one page, with what nobody asked for in it. */
const PAGE = { bytes: 4 * 1_048_576, entries: 256 } as const;
/** By so much a page may be longer than the list had it. */
const SLACK_BYTES = 1_048_576;
/** What nobody asked for, for each blob that it spares a get: copying that much takes the node 1 ms, a get 60. */
const WASTE_BYTES = 65_536;
/** Fields of an entry besides its data. */
const ENTRY_BYTES = 1_024;
/** A node that gave no page is asked for single blobs for so long. */
const REST_MS = 600_000;

interface Place {
  readonly at: number;
  readonly sizeBytes: number;
}

/** A stretch of the list: `wanted` is in it. */
interface Stretch {
  readonly from: number;
  readonly count: number;
  readonly bytes: number;
  readonly wanted: readonly WantedBlob[];
}

/**
 * Pages of the list with data, where the node's dialect has them (the specification and release 4.4): far cheaper for the
 * node than a get each. Where in the list a blob stood when that was read last is a hint and no more: what a page does
 * not bring is asked for by itself, and nothing is ever called absent because of it.
 */
export class DataPages {
  readonly #transport: NodeTransport;
  #places = new Map<VersionHash, Place>();
  /** Sizes by place. */
  #sizes: number[] = [];
  /**
   * How many entries release 4.4 has in memory: each page begins with up to `count` of these, whatever `from` is, and the
   * rest of the list follows from `from` on, again up to `count`. Elsewhere 0.
   */
  #front = 0;
  /** Release 5 tells the txid of an entry, and leaves data out of lists. */
  #hasPages = false;
  #restUntilMs = 0;

  constructor(transport: NodeTransport) {
    this.#transport = transport;
  }

  /** A page of the list was read, beginning at `from`. */
  noteListed({ entries, unreadable }: ReadablePage, from: number): void {
    const before = this.#places;
    if (from === 0) this.#forget();
    this.#hasPages = entries.every(({ txid }) => txid === null) && (from === 0 || this.#hasPages);
    // Places behind what cannot be read are not known.
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
    if (from > 0) this.#front = this.#repeatedBy(entries);
    // What is new came to memory first. Too high a number costs bytes, too low a one a page that does not bring it.
    else if (this.#front > 0) this.#front += entries.filter(({ versionHash }) => !before.has(versionHash)).length;
  }

  /** The first entries of the list, once more at the beginning of a later page. */
  #repeatedBy(entries: ReadablePage['entries']): number {
    const other = entries.findIndex(({ versionHash }, index) => this.#places.get(versionHash)?.at !== index);
    return other < 0 ? entries.length : other;
  }

  /** What pages gave of these, unverified. Throws nothing but the signal's reason: the others are asked for by themselves. */
  async fetch(wanted: readonly WantedBlob[], firstByteMs: number, signal: AbortSignal) {
    const found = new Map<VersionHash, AnsweredBlob>();
    for (const stretch of this.#stretches(wanted)) {
      try {
        const brought = await this.#page(stretch, firstByteMs, signal);
        for (const [versionHash, blob] of brought) found.set(versionHash, blob);
        if (brought.size > 0) continue;
        // The list has moved: nothing is known of it until it is read again.
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
    return this.#hasPages && performance.now() >= this.#restUntilMs;
  }

  #rest(): void {
    this.#restUntilMs = performance.now() + REST_MS;
  }

  #forget(): void {
    this.#places = new Map();
    this.#sizes = [];
  }

  #stretches(wanted: readonly WantedBlob[]): Stretch[] {
    if (!this.#mayAsk()) return [];
    // What failed before is asked for alone: the page may be why.
    const placed = wanted.flatMap((one) => {
      const place = (one.attempts ?? 0) > 0 ? undefined : this.#places.get(one.versionHash);
      return place === undefined || !isBlobSize(place.sizeBytes) ? [] : [{ one, at: place.at }];
    });
    const stretches: Stretch[] = [];
    for (const { one, at } of placed.toSorted((a, b) => a.at - b.at)) {
      const last = stretches.at(-1);
      const longer = last === undefined ? null : this.#stretch(last.from, at, [...last.wanted, one]);
      if (longer !== null) stretches[stretches.length - 1] = longer;
      else {
        const alone = this.#stretch(at < this.#front ? 0 : at, at, [one]);
        if (alone !== null) stretches.push(alone);
      }
    }
    return stretches;
  }

  /** null: a page of it costs more than it is worth. */
  #stretch(from: number, last: number, wanted: readonly WantedBlob[]): Stretch | null {
    const count = last - from + 1;
    if (count > PAGE.entries) return null;
    const behind = Math.max(from, this.#front);
    const bytes = this.#bytesOf(0, Math.min(count, this.#front)) + this.#bytesOf(behind, behind + count);
    const needed = wanted.reduce((sum, { versionHash }) => sum + (this.#places.get(versionHash)?.sizeBytes ?? 0), 0);
    if (bytes > PAGE.bytes || bytes - needed > WASTE_BYTES * wanted.length) return null;
    return { from, count, bytes, wanted };
  }

  #bytesOf(from: number, to: number): number {
    return this.#sizes.slice(from, to).reduce((sum, sizeBytes) => sum + sizeBytes, 0);
  }

  async #page({ from, count, bytes, wanted }: Stretch, firstByteMs: number, signal: AbortSignal) {
    const limitBytes = (bytes + SLACK_BYTES) * 2 + count * 2 * ENTRY_BYTES;
    const body = encodeCall(LIST, LIST, [count, from, { getdata: true }]);
    const request = { effect: 'read' as const, wallet: null, body, limitBytes, firstByteMs, signal };
    return await this.#transport.send(request, (answer) => {
      const decoded = readBlobAnswer(answer, wanted);
      const listed = resultOf(readEnvelope(decoded.value), LIST, LIST);
      const entries: readonly unknown[] = Array.isArray(listed) ? listed : [];
      const asked = new Map<unknown, WantedBlob>(wanted.map((one) => [one.versionHash, one]));
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

/** null: it is not as it must be; a get says why. */
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
