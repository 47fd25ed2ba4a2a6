import { ArchiveError } from '../core/archive-errors.ts';
import type { CustomBytes, CustomName, NamedHash } from '../core/blob/ids.ts';
import type { VerifiedBlob } from '../verify/verified-blob.ts';
import type { Asking, GivenBlob, GivenCustom, NotGiven, ProvenFile, Reader } from '../view/archive-view.ts';
import type { BlobCache } from './blob-cache.ts';
import type { Gate } from './gate.ts';

export type BlobLookup = { readonly kind: 'found'; readonly blob: VerifiedBlob } | NotGiven;
export type CustomLookup = { readonly kind: 'found'; readonly blob: CustomBytes } | NotGiven;

/** Source of the bytes that memory does not hold. */
export interface BlobFinder {
  /** Opens a file that is proven and unchanged since; null when there is none. The caller closes it. */
  provenFile(name: NamedHash, signal: AbortSignal): Promise<ProvenFile | null>;
  /** Looks everywhere, and proves what it finds. */
  find(name: NamedHash, asking: Asking): Promise<BlobLookup>;
  findCustom(name: CustomName, asking: Asking): Promise<CustomLookup>;
}

/** From so many bytes on a file is read in parts: a slow reader then holds a part of it, and not all. */
const LARGE_BYTES = 131_072;
/** Large blobs are read whole, to be kept in memory, only while so few are: a rush for them goes to their files. */
const MAX_READS = 2;

/** Gives what may be given: out of memory, out of a proven file, or what is found and proven. */
export class ProvenReader implements Reader {
  readonly #gate: Gate;
  readonly #cache: BlobCache;
  readonly #source: BlobFinder;
  #reads = 0;

  constructor(gate: Gate, cache: BlobCache, source: BlobFinder) {
    this.#gate = gate;
    this.#cache = cache;
    this.#source = source;
  }

  open(name: NamedHash, asking: Asking): Promise<GivenBlob | NotGiven>;
  open(name: CustomName, asking: Asking): Promise<GivenCustom | NotGiven>;
  async open(name: NamedHash | CustomName, asking: Asking): Promise<GivenBlob | GivenCustom | NotGiven> {
    const guarded = 'keccak' in name ? { versionHash: name.versionHash, hashType: null } : name;
    const refusal = this.#gate.refusal(guarded);
    if (refusal !== null) return refusal;
    const found = await ('keccak' in name ? this.#custom(name, asking) : this.#blob(name, asking));
    // The name may have been withheld during the search.
    const late = this.#gate.refusal(guarded);
    if (late === null) return found;
    if (found.kind === 'file') found.file.close();
    return late;
  }

  async #custom(name: CustomName, asking: Asking): Promise<GivenCustom | NotGiven> {
    const found = await this.#source.findCustom(name, asking);
    return found.kind === 'found' ? { kind: 'memory', blob: found.blob, isLent: false } : found;
  }

  async #blob(name: NamedHash, asking: Asking): Promise<GivenBlob | NotGiven> {
    const kept = this.#cache.get(name);
    if (kept !== null) return this.#lent(kept, asking);
    return (await this.#fileOf(name, asking)) ?? (await this.#read(name, asking));
  }

  /** The blob costs the answer no memory. A caller that owns the bytes may keep them longer than the cache. */
  #lent(kept: VerifiedBlob, { sending }: Asking): GivenBlob {
    if (sending === null) return inMemory(kept);
    this.#cache.lend(kept, sending);
    return { kind: 'memory', blob: kept, isLent: true };
  }

  /** null: there is no proven one, or it is small, or worth having in memory. */
  async #fileOf(name: NamedHash, { signal, isTight }: Asking): Promise<GivenBlob | null> {
    const file = await this.#source.provenFile(name, signal);
    if (file === null) return null;
    const isWanted = () => !isTight() && this.#reads < MAX_READS && this.#cache.wants(file, file.sizeBytes);
    if (file.sizeBytes >= LARGE_BYTES && !isWanted()) return { kind: 'file', file };
    file.close();
    return null;
  }

  async #read(name: NamedHash, asking: Asking): Promise<GivenBlob | NotGiven> {
    this.#reads += 1;
    const found = await this.#source.find(name, asking).finally(() => {
      this.#reads -= 1;
    });
    if (found.kind !== 'found') return found;
    const { blob } = found;
    refuseOther(name, blob);
    const kept = this.#cache.wants(blob, blob.bytes.length) ? this.#cache.keep(blob) : null;
    if (kept !== null) return this.#lent(kept, asking);
    // Proven just now: what was read to prove it need not wait in memory for its reader.
    return (blob.bytes.length < LARGE_BYTES ? null : await this.#fileOf(name, asking)) ?? inMemory(blob);
  }
}

function inMemory(blob: VerifiedBlob): GivenBlob {
  return { kind: 'memory', blob, isLent: false };
}

/** Verified bytes of the wrong blob are wrong bytes. */
function refuseOther(asked: NamedHash, { versionHash, hashType }: VerifiedBlob): void {
  if (versionHash === asked.versionHash && (asked.hashType === null || asked.hashType === hashType)) return;
  throw new ArchiveError('archive/wrong-bytes', `${hashType} ${versionHash} was found for another name.`, {
    details: { asked, given: { hashType, versionHash } },
    retryable: false,
    hint: 'This is an error in holdfast; report it.',
  });
}
