import type { CID } from 'multiformats/cid';
import { blobCid, contentOfCid } from '../../core/blob/cid.ts';
import { encodeHex } from '../../core/blob/hex.ts';
import { type ContentName, parseVersionHash } from '../../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';
import { hashWith, nobleHasher } from '../../verify/hasher.ts';
import type { UnverifiedBlob, VerifiedBlob } from '../../verify/verified-blob.ts';
import type { BlobStore, StoredEntry } from '../blob-store.ts';
import { StorageError } from '../errors.ts';
import type { PlaceMarks } from '../place-marks.ts';
import type { ProbedStore, ProbeFinding } from '../probe.ts';
import type { IpfsOptions } from './ipfs-options.ts';
import { probeIpfs } from './ipfs-probe.ts';
import { KuboApi } from './kubo-api.ts';

/** Sizes asked for at a time while listing. */
const SIZES_AHEAD = 16;

/**
 * One pinned raw block per blob, under the CID that its version hash makes. Answers are of the local repository alone:
 * what other nodes of the network have is not held here.
 */
export class IpfsStore implements BlobStore, ProbedStore {
  readonly id: string;
  /** A document has no CID that follows from its path. */
  readonly documents = null;
  readonly #kubo: KuboApi;

  private constructor(kubo: KuboApi) {
    this.id = kubo.id;
    this.#kubo = kubo;
  }

  /** Asks nothing of Kubo yet: see `probe`. */
  static async open(options: IpfsOptions): Promise<IpfsStore> {
    return new IpfsStore(await KuboApi.open(options));
  }

  /**
   * Durable as far as Kubo's datastore is: see `durable` of the probe. What is there already is compared first: Kubo
   * acknowledges a block that it believes to have without writing it, also over a damaged one (0.42, measured).
   */
  async put(blob: VerifiedBlob, signal: AbortSignal): Promise<void> {
    const cid = blobCid(blob);
    if ((await this.#kubo.size(cid, signal)) !== null) {
      // Twice, for one bad transfer must not take away what is good: Kubo knows no replacing, only removing and putting.
      const isSame = (await this.#isSame(cid, blob.bytes, signal)) || (await this.#isSame(cid, blob.bytes, signal));
      if (isSame) return await this.#kubo.pin(cid, signal);
      await this.#kubo.remove(cid, signal);
    }
    await this.putUnseen(blob, signal);
  }

  async putUnseen(blob: VerifiedBlob, signal: AbortSignal): Promise<void> {
    const cid = blobCid(blob);
    const answered = await this.#kubo.put(blob.hashType, blob.bytes, true, signal);
    if (!answered.equals(cid)) throw this.#otherCid(cid, answered);
  }

  async isKept(name: ContentName, signal: AbortSignal): Promise<boolean> {
    return await this.#kubo.isPinned(blobCid(name), signal);
  }

  async get(name: ContentName, signal: AbortSignal): Promise<UnverifiedBlob | null> {
    const bytes = await this.#kubo.get(blobCid(name), MAX_BLOB_BYTES + 1, signal);
    return bytes === null ? null : { hashType: name.hashType, versionHash: name.versionHash, bytes };
  }

  /** null also for a block that is there and not pinned: it may be collected at any time, and `put` pins it. */
  async stat(name: ContentName, signal: AbortSignal): Promise<StoredEntry | null> {
    const cid = blobCid(name);
    const [sizeBytes, isPinned] = await Promise.all([this.#kubo.size(cid, signal), this.#kubo.isPinned(cid, signal)]);
    if (sizeBytes === null || !isPinned) return null;
    return { hashType: name.hashType, versionHash: name.versionHash, sizeBytes };
  }

  async *names(signal: AbortSignal): AsyncIterable<ContentName> {
    for await (const cid of this.#kubo.pins(signal)) {
      const name = contentOfCid(cid);
      if (name !== null) yield name;
    }
  }

  /** The listing of pins has no sizes: each is asked for, some at a time. */
  async *list(signal: AbortSignal): AsyncIterable<StoredEntry> {
    const ahead: Promise<StoredEntry | null>[] = [];
    const next = async (): Promise<StoredEntry | null> => {
      const entry = await ahead.shift();
      signal.throwIfAborted();
      return entry ?? null;
    };
    for await (const name of this.names(signal)) {
      const asked = this.#entry(name, signal);
      // Nobody may be waiting when it fails; whoever takes it out of the row is.
      asked.catch(() => {});
      ahead.push(asked);
      if (ahead.length < SIZES_AHEAD) continue;
      const entry = await next();
      if (entry !== null) yield entry;
    }
    while (ahead.length > 0) {
      const entry = await next();
      if (entry !== null) yield entry;
    }
  }

  async delete(name: ContentName, signal: AbortSignal): Promise<void> {
    await this.#kubo.remove(blobCid(name), signal);
  }

  /** The mark is a block that nobody pins. */
  get marks(): PlaceMarks {
    const bytesOf = (mark: string) => Buffer.from(`holdfast ${mark}`);
    const cidOf = (mark: string) => {
      const versionHash = parseVersionHash(encodeHex(hashWith(nobleHasher, 'keccak256', bytesOf(mark))));
      return blobCid({ hashType: 'keccak256', versionHash });
    };
    return {
      leave: async (mark, signal) => {
        await this.#kubo.put('keccak256', bytesOf(mark), false, signal);
      },
      has: async (mark, signal) => (await this.#kubo.size(cidOf(mark), signal)) !== null,
      remove: (mark, signal) => this.#kubo.remove(cidOf(mark), signal),
    };
  }

  async probe(signal: AbortSignal): Promise<readonly ProbeFinding[]> {
    return await probeIpfs(this.#kubo, signal);
  }

  async close(): Promise<void> {
    await this.#kubo.close();
  }

  async #entry(name: ContentName, signal: AbortSignal): Promise<StoredEntry | null> {
    const sizeBytes = await this.#kubo.size(blobCid(name), signal);
    return sizeBytes === null ? null : { ...name, sizeBytes };
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
