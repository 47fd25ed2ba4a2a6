import type { CID } from 'multiformats/cid';
import { blobCid, contentOfCid } from '../../core/blob/cid.ts';
import { encodeHex } from '../../core/blob/hex.ts';
import { type ContentName, parseVersionHash } from '../../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';
import { hashWith, nobleHasher } from '../../verify/hasher.ts';
import { StorageError } from '../errors.ts';
import {
  isCustom,
  isMark,
  kindOf,
  type ListedObject,
  type NewObject,
  type ObjectKey,
  type ObjectKind,
  type ObjectRange,
  type ObjectStore,
  type PurgeTarget,
  type PutMode,
  type StoreProperties,
} from '../object-store.ts';
import type { ProbeFinding } from '../probe.ts';
import type { IpfsOptions } from './ipfs-options.ts';
import { probeIpfs } from './ipfs-probe.ts';
import { KuboApi } from './kubo-api.ts';

const HOLDS: ReadonlySet<ObjectKind> = new Set(['blob', 'mark']);

/**
 * Stores each blob as one pinned raw block, under the CID of its version hash. Answers cover the local repository
 * alone: a block that only the network holds is absent. A mark is a block without a pin.
 */
export class IpfsStore implements ObjectStore {
  readonly id: string;
  readonly properties: StoreProperties;
  /** Kubo tells no time. */
  readonly clockOffsetMs = null;
  readonly #kubo: KuboApi;

  private constructor(kubo: KuboApi) {
    this.id = kubo.id;
    this.properties = { holds: HOLDS, pins: true, layout: 'holdfast', where: kubo.where };
    this.#kubo = kubo;
  }

  /** Asks nothing of Kubo yet: see `probe`. */
  static async open(options: IpfsOptions): Promise<IpfsStore> {
    return new IpfsStore(new KuboApi(options));
  }

  /** Durable as far as Kubo's datastore is: see `durable` of the probe. */
  async put(object: NewObject, mode: PutMode, signal: AbortSignal): Promise<void> {
    const { name, bytes, pin } = this.#blockOf(object);
    const cid = blobCid(name);
    // Kubo acknowledges a block that it believes to have without writing it, also over a damaged one (0.42, measured).
    if (mode === 'replace' && (await this.#kubo.size(cid, signal)) !== null) {
      // Twice, for one bad transfer must not take away what is good: Kubo knows no replacing, only removing and putting.
      const isSame = (await this.#isSame(cid, bytes, signal)) || (await this.#isSame(cid, bytes, signal));
      if (isSame) return pin ? await this.#kubo.pin(cid, signal) : undefined;
      await this.#kubo.remove(cid, signal);
    }
    const answered = await this.#kubo.put(name.hashType, bytes, pin, signal);
    if (!answered.equals(cid)) throw this.#otherCid(cid, answered);
  }

  async get(key: ObjectKey, signal: AbortSignal): Promise<Uint8Array | null> {
    return await this.#kubo.get(this.#cidOf(key), MAX_BLOB_BYTES + 1, signal);
  }

  /** null also for a blob that is there and not pinned: it may be collected at any time, and `put` pins it. */
  async stat(key: ObjectKey, signal: AbortSignal): Promise<{ readonly sizeBytes: number } | null> {
    const cid = this.#cidOf(key);
    const isKept = kindOf(key) === 'mark' || this.#kubo.isPinned(cid, signal);
    const [sizeBytes, isThere] = await Promise.all([this.#kubo.size(cid, signal), isKept]);
    return sizeBytes === null || !isThere ? null : { sizeBytes };
  }

  async isKept(key: ObjectKey, signal: AbortSignal): Promise<boolean> {
    return await this.#kubo.isPinned(this.#cidOf(key), signal);
  }

  /** The listing of pins has no sizes. */
  async *list(range: ObjectRange, signal: AbortSignal): AsyncIterable<ListedObject> {
    if (range !== 'blobs') throw this.#notHeld('documents and custom bytes');
    for await (const cid of this.#kubo.pins(signal)) {
      const name = contentOfCid(cid);
      if (name !== null) yield { ...name, sizeBytes: null };
    }
  }

  async delete(key: ObjectKey, signal: AbortSignal): Promise<void> {
    await this.#kubo.remove(this.#cidOf(key), signal);
  }

  async purge(target: PurgeTarget, signal: AbortSignal): Promise<boolean> {
    if ('customOf' in target) throw this.#notHeld('custom bytes');
    const cid = blobCid(target);
    const [sizeBytes, isPinned] = await Promise.all([this.#kubo.size(cid, signal), this.#kubo.isPinned(cid, signal)]);
    if (sizeBytes === null && !isPinned) return false;
    await this.#kubo.remove(cid, signal);
    return true;
  }

  async probe(signal: AbortSignal): Promise<readonly ProbeFinding[]> {
    return await probeIpfs(this.#kubo, signal);
  }

  /** Room on the disk. `StorageMax` bounds garbage collection alone: Kubo goes on writing above it. */
  async freeBytes(signal: AbortSignal): Promise<number> {
    return await this.#kubo.freeDiskBytes(signal);
  }

  async close(): Promise<void> {
    await this.#kubo.close();
  }

  #blockOf(object: NewObject): { readonly name: ContentName; readonly bytes: Uint8Array; readonly pin: boolean } {
    if (!('path' in object)) {
      if (isCustom(object)) throw this.#notHeld('custom bytes');
      return { name: object, bytes: object.bytes, pin: true };
    }
    return { name: this.#nameOf(object.path), bytes: Buffer.from(object.text), pin: false };
  }

  #cidOf(key: ObjectKey): CID {
    return blobCid(this.#nameOf(key));
  }

  /** A mark says its own path, so that its CID follows from that. */
  #nameOf(key: ObjectKey): ContentName {
    if (typeof key === 'string') {
      if (!isMark(key)) throw this.#notHeld('documents');
      const versionHash = parseVersionHash(encodeHex(hashWith(nobleHasher, 'keccak256', Buffer.from(key))));
      return { hashType: 'keccak256', versionHash };
    }
    if (isCustom(key)) throw this.#notHeld('custom bytes');
    return key;
  }

  #notHeld(what: string): TypeError {
    return new TypeError(`the ${this.id} store holds no ${what}`);
  }

  async #isSame(cid: CID, bytes: Uint8Array, signal: AbortSignal): Promise<boolean> {
    const there = await this.#kubo.get(cid, bytes.length + 1, signal);
    return there !== null && Buffer.compare(there, bytes) === 0;
  }

  #otherCid(wanted: CID, answered: CID): StorageError {
    const { id, where } = this.#kubo;
    return new StorageError(
      'storage/not-kubo',
      `The ${id} store at ${where} put the block under ${answered} instead of ${wanted} (put).`,
      {
        details: { backend: id, operation: 'put', where, cid: answered.toString() },
        retryable: false,
        hint: 'Update Kubo, and look for a proxy that changes the address or the body of requests.',
      },
    );
  }
}
