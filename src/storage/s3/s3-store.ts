import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';
import {
  customNameOf,
  customPath,
  isCustom,
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
import { MAX_RECORD_BYTES, recordPathOrNull } from '../record-path.ts';
import { type BlobLayout, rawLayout, sentinelLayout } from './blob-layout.ts';
import { putSafely, putWhereNothingIs, type SafePut } from './put-safely.ts';
import { S3Bucket } from './s3-bucket.ts';
import type { S3Options } from './s3-options.ts';
import { probeS3 } from './s3-probe.ts';

const HOLDS: ReadonlySet<ObjectKind> = new Set(['blob', 'custom', 'record', 'evidence', 'binding', 'mark']);

/** A bucket, or a prefix of one, of any server that speaks S3. */
export class S3Store implements ObjectStore {
  readonly id: string;
  readonly properties: StoreProperties;
  readonly #bucket: S3Bucket;
  readonly #layout: BlobLayout;

  private constructor(bucket: S3Bucket, layout: BlobLayout) {
    this.id = bucket.id;
    this.properties = { holds: HOLDS, pins: false, layout: bucket.options.layout, where: bucket.where };
    this.#bucket = bucket;
    this.#layout = layout;
  }

  /** Asks nothing of the server yet: see `probe`. */
  static async open(options: S3Options): Promise<S3Store> {
    const layout = options.layout === 'sentinel' ? sentinelLayout : rawLayout(options.keyTemplate);
    return new S3Store(await S3Bucket.open(options), layout);
  }

  get clockOffsetMs(): number | null {
    return this.#bucket.clockOffsetMs;
  }

  async put(object: NewObject, mode: PutMode, signal: AbortSignal): Promise<void> {
    const put = mode === 'create' ? putWhereNothingIs : putSafely;
    await put(this.#bucket, this.#putOf(object), signal);
  }

  #putOf(object: NewObject): SafePut {
    if ('path' in object) {
      const body = Buffer.from(object.text);
      const kind = kindOf(object.path);
      // A binding and a mark are never retained: a mark is deleted soon, and a bucket may be bound again.
      const lock = kind === 'record' || kind === 'evidence';
      return { ...rawPut(object.path, body), contentType: 'application/json', lock };
    }
    const name = this.#nameOf(object);
    const { bytes } = object;
    if (isCustom(object)) return { ...rawPut(name, bytes), contentType: 'application/octet-stream', aside: name };
    const layout = this.#layout;
    return {
      name,
      body: layout.encode(bytes),
      contentType: layout.contentType,
      isSame: (body) => Buffer.compare(layout.decode(body), bytes) === 0,
      limitBytes: layout.bodyLimitBytes,
      lock: true,
      aside: `${object.hashType}/${object.versionHash}`,
    };
  }

  async get(key: ObjectKey, signal: AbortSignal): Promise<Uint8Array | null> {
    const found = await this.#bucket.get(this.#nameOf(key), this.#limitOf(key), signal);
    if (found === null) return null;
    return kindOf(key) === 'blob' ? this.#layout.decode(found.body) : found.body;
  }

  async stat(key: ObjectKey, signal: AbortSignal): Promise<{ readonly sizeBytes: number } | null> {
    const bodyBytes = await this.#bucket.size(this.#nameOf(key), signal);
    if (bodyBytes === null) return null;
    return { sizeBytes: kindOf(key) === 'blob' ? this.#layout.sizeOf(bodyBytes) : bodyBytes };
  }

  async isKept(): Promise<boolean> {
    return true;
  }

  async *list(range: ObjectRange, signal: AbortSignal): AsyncIterable<ListedObject> {
    for await (const { key, sizeBytes } of this.#bucket.list(this.#prefixOf(range), signal)) {
      const entry = this.#entryOf(range, key, sizeBytes);
      if (entry !== null) yield entry;
    }
  }

  #prefixOf(range: ObjectRange): string {
    if (range === 'blobs') return this.#layout.listPrefix;
    if ('below' in range) return range.below;
    return range.customOf === null ? 'custom/' : `custom/${range.customOf}/`;
  }

  #entryOf(range: ObjectRange, key: string, sizeBytes: number): ListedObject | null {
    if (range === 'blobs') return this.#layout.entryOf(key, sizeBytes);
    if ('below' in range) {
      const path = recordPathOrNull(key);
      return path === null ? null : { path, sizeBytes };
    }
    const name = customNameOf(key);
    return name === null ? null : { ...name, sizeBytes };
  }

  async delete(key: ObjectKey, signal: AbortSignal): Promise<void> {
    await this.#bucket.delete(this.#nameOf(key), signal);
  }

  async purge(target: PurgeTarget, signal: AbortSignal): Promise<boolean> {
    const { names, below } = this.#everyTraceOf(target);
    const all = new Set(names);
    for (const prefix of below) for (const name of await this.#bucket.namesEver(prefix, signal)) all.add(name);
    let found = false;
    let fault: unknown = null;
    for (const name of all) {
      try {
        found = (await this.#bucket.deleteForGood(name, signal)) || found;
      } catch (error) {
        signal.throwIfAborted();
        fault ??= error;
      }
    }
    if (fault !== null) throw fault;
    return found;
  }

  #everyTraceOf(target: PurgeTarget): { names: readonly string[]; below: readonly string[] } {
    if (!('customOf' in target)) {
      return { names: [this.#nameOf(target)], below: [`damaged/${target.hashType}/${target.versionHash}/`] };
    }
    const folder = `custom/${target.customOf}/`;
    return { names: [], below: [folder, `damaged/${folder}`] };
  }

  async probe(signal: AbortSignal): Promise<readonly ProbeFinding[]> {
    return await probeS3(this.#bucket, signal);
  }

  async freeBytes(): Promise<null> {
    return null;
  }

  async close(): Promise<void> {
    this.#bucket.close();
  }

  #nameOf(key: ObjectKey): string {
    if (typeof key === 'string') return key;
    return isCustom(key) ? customPath(key) : this.#layout.keyOf(key);
  }

  /** More is never read. */
  #limitOf(key: ObjectKey): number {
    if (typeof key === 'string') return MAX_RECORD_BYTES;
    return isCustom(key) ? MAX_BLOB_BYTES + 1 : this.#layout.bodyLimitBytes;
  }
}

function rawPut(name: string, body: Uint8Array): Omit<SafePut, 'contentType'> {
  const isSame = (there: Uint8Array) => Buffer.compare(there, body) === 0;
  return { name, body, isSame, limitBytes: body.length + 1, lock: true, aside: null };
}
