import type { ContentName, NamedHash, VersionHash } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import type { VerifiedBlob } from '../verify/verified-blob.ts';
import type { ArchiveView, ProvenBytes } from '../view/archive-view.ts';
import type { BlobCache } from './blob-cache.ts';
import { type MissingBlob, readBlob } from './blob-lookup.ts';
import { heldInParts, LARGE_PART_BYTES, SMALL_PART_BYTES } from './part-size.ts';
import type { HoldingRequest } from './route.ts';

/** Bytes to be sent: in memory, or in a file that is read while they are sent. Both are proven. */
export type ServedBytes = ContentName & { readonly sizeBytes: number } & (
    | { readonly kind: 'memory'; readonly blob: VerifiedBlob }
    | { readonly kind: 'file'; readonly file: ProvenBytes; readonly partBytes: number }
  );

export type BytesLookup = ServedBytes | { readonly kind: 'missing'; readonly lookup: MissingBlob };

/** From so many bytes on a file is sent in parts: a slow reader then holds a part of it, and not all. */
const LARGE_BYTES = 131_072;

/** Large blobs are read whole, to be kept in memory, only while so few are: a rush for them goes to their files. */
const MOST_READS = 2;

export type BytesView = Pick<ArchiveView, 'read' | 'open' | 'glance' | 'isWithheld'>;

/** Where routes get bytes from: memory, then a proven file, then whatever the archive finds and proves. */
export class BlobBytes {
  readonly #view: BytesView;
  readonly #cache: BlobCache;
  readonly #isTight: () => boolean;
  #reads = 0;

  /** `isTight`: so much is held by slow readers that large blobs are better sent in parts. */
  constructor(view: BytesView, cache: BlobCache, isTight: () => boolean = () => false) {
    this.#view = view;
    this.#cache = cache;
    this.#isTight = isTight;
  }

  /** Who gets a file closes it. */
  async find(name: NamedHash, request: HoldingRequest): Promise<BytesLookup> {
    const held = this.#held(name);
    if (held !== null && (held.sizeBytes < LARGE_BYTES || request.holdForSpeed(held.sizeBytes))) return held;
    return (await this.#proven(name, request)) ?? held ?? this.#glanced(name) ?? (await this.#read(name, request));
  }

  /** Out of memory, at once; null: it is not there, or may not be given out. */
  #held(name: NamedHash): (ServedBytes & { readonly kind: 'memory' }) | null {
    if (this.#view.isWithheld?.(name) === true) return null;
    const blob = this.#cache.get(name);
    return blob === null ? null : inMemory(blob);
  }

  /** Small, and read and proven at once; null: `find` has to look. */
  #glanced(name: NamedHash): (ServedBytes & { readonly kind: 'memory' }) | null {
    if (this.#view.glance === undefined || this.#view.isWithheld?.(name) === true) return null;
    const blob = this.#glance(name.versionHash);
    if (blob === null || blob.versionHash !== name.versionHash) return null;
    if (name.hashType !== null && name.hashType !== blob.hashType) return null;
    if (this.#cache.wants(blob, blob.bytes.length)) this.#cache.keep(blob);
    return inMemory(blob);
  }

  #glance(versionHash: VersionHash): VerifiedBlob | null {
    try {
      return this.#view.glance?.(versionHash) ?? null;
    } catch {
      // `read` meets the same fault, looks elsewhere, and has the words for it.
      return null;
    }
  }

  /** A file that is proven already; null: there is none, or it is wanted in memory. */
  async #proven(name: NamedHash, request: HoldingRequest): Promise<ServedBytes | null> {
    const opened = (await this.#view.open?.(name, request.signal)) ?? null;
    const file = opened === null ? null : this.#worthParts(opened);
    if (file === null) return null;
    const { hashType, versionHash, sizeBytes } = file;
    const partBytes = request.holdForSpeed(heldInParts(LARGE_PART_BYTES)) ? LARGE_PART_BYTES : SMALL_PART_BYTES;
    return { kind: 'file', hashType, versionHash, sizeBytes, file, partBytes };
  }

  /** null: it is small, or wanted in memory, and closed. */
  #worthParts(file: ProvenBytes): ProvenBytes | null {
    if (file.sizeBytes >= LARGE_BYTES && !this.#isWanted(file)) return file;
    file.close();
    return null;
  }

  #isWanted(file: ProvenBytes): boolean {
    return !this.#isTight() && this.#reads < MOST_READS && this.#cache.wants(file, file.sizeBytes);
  }

  async #read(name: NamedHash, request: HoldingRequest): Promise<BytesLookup> {
    await request.hold(MAX_BLOB_BYTES);
    this.#reads += 1;
    const lookup = await readBlob(this.#view, name, request.signal).finally(() => {
      this.#reads -= 1;
    });
    if (lookup.kind !== 'found') return { kind: 'missing', lookup };
    const { blob } = lookup;
    if (this.#cache.wants(blob, blob.bytes.length)) {
      this.#cache.keep(blob);
      return inMemory(blob);
    }
    // Proven just now: what was read to prove it need not wait in memory for its reader.
    return (blob.bytes.length < LARGE_BYTES ? null : await this.#proven(name, request)) ?? inMemory(blob);
  }
}

function inMemory(blob: VerifiedBlob): ServedBytes & { readonly kind: 'memory' } {
  return {
    kind: 'memory',
    hashType: blob.hashType,
    versionHash: blob.versionHash,
    sizeBytes: blob.bytes.length,
    blob,
  };
}
