import type { BlockHash, ContentName, VersionHash } from '../../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';
import type { UnverifiedBlob, VerifiedBlob } from '../../verify/verified-blob.ts';
import type { BlobStore, DamageKeeper, StoredEntry } from '../blob-store.ts';
import { type ChainBinding, MARKER, markerText, parseMarker, refuseOtherBinding } from '../chain-binding.ts';
import { type CustomName, type CustomStore, customNameOf, customPath, type ListedCustom } from '../custom-store.ts';
import {
  DOCUMENT_KINDS,
  type Document,
  type DocumentRange,
  type ListedDocument,
  type ObjectStore,
  type PutMode,
} from '../object-store.ts';
import type { PlaceMarks } from '../place-marks.ts';
import type { ProbedStore, ProbeFinding } from '../probe.ts';
import { MAX_RECORD_BYTES, recordPathOrNull } from '../record-path.ts';
import { type BlobLayout, rawLayout, sentinelLayout } from './blob-layout.ts';
import { putSafely, putWhereNothingIs, type SafePut } from './put-safely.ts';
import { S3Bucket } from './s3-bucket.ts';
import type { S3Options } from './s3-options.ts';
import { probeS3 } from './s3-probe.ts';

const MARKER_LIMIT_BYTES = 65_536;
const JSON_TYPE = 'application/json';

/** A bucket, or a prefix of one, of any server that speaks S3. */
export class S3Store implements BlobStore, CustomStore, DamageKeeper, ChainBinding, ProbedStore {
  readonly id: string;
  readonly #bucket: S3Bucket;
  readonly #layout: BlobLayout;

  private constructor(bucket: S3Bucket, layout: BlobLayout) {
    this.id = bucket.id;
    this.#bucket = bucket;
    this.#layout = layout;
  }

  /** Asks nothing of the server yet: see `probe` and `bindTo`. */
  static async open(options: S3Options): Promise<S3Store> {
    const layout = options.layout === 'sentinel' ? sentinelLayout : rawLayout(options.keyTemplate);
    return new S3Store(await S3Bucket.open(options), layout);
  }

  /** The clock of the server as its last answer told it, minus ours; null before there was one. */
  get clockOffsetMs(): number | null {
    return this.#bucket.clockOffsetMs;
  }

  async put(blob: VerifiedBlob, signal: AbortSignal): Promise<void> {
    await putSafely(this.#bucket, this.#objectOf(blob), signal);
  }

  async putUnseen(blob: VerifiedBlob, signal: AbortSignal): Promise<void> {
    await putWhereNothingIs(this.#bucket, this.#objectOf(blob), signal);
  }

  #objectOf(blob: VerifiedBlob): SafePut {
    const layout = this.#layout;
    return {
      name: layout.keyOf(blob),
      body: layout.encode(blob.bytes),
      contentType: layout.contentType,
      isSame: (body) => Buffer.compare(layout.decode(body), blob.bytes) === 0,
      limitBytes: layout.bodyLimitBytes,
    };
  }

  async get(name: ContentName, signal: AbortSignal): Promise<UnverifiedBlob | null> {
    const found = await this.#bucket.get(this.#layout.keyOf(name), this.#layout.bodyLimitBytes, signal);
    if (found === null) return null;
    return { hashType: name.hashType, versionHash: name.versionHash, bytes: this.#layout.decode(found.body) };
  }

  async stat(name: ContentName, signal: AbortSignal): Promise<StoredEntry | null> {
    const bodyBytes = await this.#bucket.size(this.#layout.keyOf(name), signal);
    if (bodyBytes === null) return null;
    return { hashType: name.hashType, versionHash: name.versionHash, sizeBytes: this.#layout.sizeOf(bodyBytes) };
  }

  async *list(signal: AbortSignal): AsyncIterable<StoredEntry> {
    for await (const { key, sizeBytes } of this.#bucket.list(this.#layout.listPrefix, signal)) {
      const entry = this.#layout.entryOf(key, sizeBytes);
      if (entry !== null) yield entry;
    }
  }

  async delete(name: ContentName, signal: AbortSignal): Promise<void> {
    await this.#bucket.delete(this.#layout.keyOf(name), signal);
  }

  async purge(name: ContentName, signal: AbortSignal): Promise<boolean> {
    let found = await this.#bucket.deleteForGood(this.#layout.keyOf(name), signal);
    for await (const { key } of this.#bucket.list(`damaged/${name.hashType}/${name.versionHash}/`, signal)) {
      found = (await this.#bucket.deleteForGood(key, signal)) || found;
    }
    return found;
  }

  /** Copies what lies there under `damaged/`, before it is replaced. The same damage again is the same copy. */
  async setAside(name: ContentName, signal: AbortSignal): Promise<string | null> {
    return await this.#setAside(this.#layout.keyOf(name), `${name.hashType}/${name.versionHash}`, signal);
  }

  async #setAside(key: string, below: string, signal: AbortSignal): Promise<string | null> {
    const found = await this.#bucket.get(key, 1, signal);
    if (found === null) return null;
    const copy = `damaged/${below}/${found.etag.replace(/[^0-9A-Za-z-]/g, '')}`;
    await this.#bucket.copy(key, copy, signal);
    return copy;
  }

  async putCustom(name: CustomName, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    const isSame = (there: Uint8Array) => Buffer.compare(there, bytes) === 0;
    const about = { contentType: 'application/octet-stream', isSame, limitBytes: bytes.length + 1 };
    await putSafely(this.#bucket, { name: customPath(name), body: bytes, ...about }, signal);
  }

  async getCustom(name: CustomName, signal: AbortSignal): Promise<Uint8Array | null> {
    return (await this.#bucket.get(customPath(name), MAX_BLOB_BYTES + 1, signal))?.body ?? null;
  }

  async *listCustom(versionHash: VersionHash | null, signal: AbortSignal): AsyncIterable<ListedCustom> {
    const below = versionHash === null ? 'custom/' : `custom/${versionHash}/`;
    for await (const { key, sizeBytes } of this.#bucket.list(below, signal)) {
      const name = customNameOf(key);
      if (name !== null) yield { ...name, sizeBytes };
    }
  }

  async setCustomAside(name: CustomName, signal: AbortSignal): Promise<string | null> {
    return await this.#setAside(customPath(name), customPath(name), signal);
  }

  async purgeCustom(versionHash: VersionHash, signal: AbortSignal): Promise<boolean> {
    let found = false;
    let fault: unknown = null;
    for (const below of [`custom/${versionHash}/`, `damaged/custom/${versionHash}/`]) {
      for (const key of await this.#bucket.namesEver(below, signal)) {
        try {
          found = (await this.#bucket.deleteForGood(key, signal)) || found;
        } catch (error) {
          signal.throwIfAborted();
          fault ??= error;
        }
      }
    }
    if (fault !== null) throw fault;
    return found;
  }

  /** Occurrence records and evidence, under their paths. */
  get documents(): ObjectStore {
    return {
      id: this.id,
      properties: { holds: DOCUMENT_KINDS },
      put: (document, mode, signal) => this.#putDocument(document, mode, signal),
      get: async (path, signal) => (await this.#bucket.get(path, MAX_RECORD_BYTES, signal))?.body ?? null,
      list: (range, signal) => this.#documents(range, signal),
      delete: (path, signal) => this.#bucket.delete(path, signal),
      probe: (signal) => this.probe(signal),
    };
  }

  async *#documents({ below }: DocumentRange, signal: AbortSignal): AsyncIterable<ListedDocument> {
    for await (const { key, sizeBytes } of this.#bucket.list(below, signal)) {
      const path = recordPathOrNull(key);
      if (path !== null) yield { path, sizeBytes };
    }
  }

  async boundChain(signal: AbortSignal): Promise<BlockHash | null> {
    const found = await this.#bucket.get(MARKER, MARKER_LIMIT_BYTES, signal);
    if (found === null) return null;
    const { where, options } = this.#bucket;
    const marker = parseMarker(new TextDecoder().decode(found.body), where);
    refuseOtherBinding(marker, options.layout, null, where);
    return marker.chain.genesis;
  }

  async bindTo(genesis: BlockHash, signal: AbortSignal): Promise<void> {
    const { where, options } = this.#bucket;
    const about = { contentType: JSON_TYPE, condition: 'absent', lock: false } as const;
    const found = await this.#bucket.get(MARKER, MARKER_LIMIT_BYTES, signal);
    if (found === null) {
      const body = Buffer.from(markerText(options.layout, genesis));
      const outcome = await this.#bucket.put(MARKER, body, about, signal);
      if (outcome === 'condition refused') await this.#bucket.put(MARKER, body, { ...about, condition: null }, signal);
    }
    // Read again also after writing: of two archivers of two chains that bind at one moment, one must see the other.
    const now = await this.#bucket.get(MARKER, MARKER_LIMIT_BYTES, signal);
    refuseOtherBinding(parseMarker(new TextDecoder().decode(now?.body), where), options.layout, genesis, where);
  }

  get marks(): PlaceMarks {
    const keyOf = (mark: string) => `probe/place-${mark}`;
    const about = { contentType: 'text/plain', condition: null, lock: false } as const;
    return {
      leave: async (mark, signal) => {
        await this.#bucket.put(keyOf(mark), Buffer.from(mark), about, signal);
      },
      has: async (mark, signal) => {
        const found = await this.#bucket.get(keyOf(mark), mark.length + 1, signal);
        return found !== null && Buffer.from(found.body).toString() === mark;
      },
      remove: (mark, signal) => this.#bucket.delete(keyOf(mark), signal),
    };
  }

  async probe(signal: AbortSignal): Promise<readonly ProbeFinding[]> {
    return await probeS3(this.#bucket, signal);
  }

  async close(): Promise<void> {
    this.#bucket.close();
  }

  async #putDocument({ path, text }: Document, mode: PutMode, signal: AbortSignal): Promise<void> {
    const body = Buffer.from(text);
    const isSame = (there: Uint8Array) => Buffer.compare(there, body) === 0;
    const object = { name: path, body, contentType: JSON_TYPE, isSame, limitBytes: body.length + 1 };
    if (mode === 'create') await putWhereNothingIs(this.#bucket, object, signal);
    else await putSafely(this.#bucket, object, signal);
  }
}
