import type { ContentName } from '../core/blob/ids.ts';
import { type Attempt, firstGood } from '../core/first-good.ts';
import { StorageError } from '../storage/errors.ts';
import type { VerifiedBlob, Verifier } from '../verify/verified-blob.ts';
import { type HeldBytes, MEMORY } from '../view/held-bytes.ts';
import type { BackendHandle, CopyFinding } from './backend-handle.ts';
import type { LocalCopies } from './local-copies.ts';

/** A place that answered without giving the right bytes. */
export interface BadCopy {
  readonly backend: string;
  readonly kind: 'missing' | 'damaged';
}

export interface CopySearch {
  readonly found: { readonly blob: VerifiedBlob; readonly from: string } | null;
  /** Bad copies that were found on the way. */
  readonly bad: readonly BadCopy[];
  /** Places that could not answer: as long as there is one, nothing is known to be absent. */
  readonly faults: readonly StorageError[];
}

/** When a backend has not answered by then, the next one is asked as well. */
const HEDGE_MS = 500;

/** All the places that can hold a content, as one: nearest first, every byte verified. */
export class Copies {
  readonly #local: LocalCopies;
  readonly #verifier: Verifier;
  readonly #sites: readonly BackendHandle[];
  readonly #held: HeldBytes;

  constructor(local: LocalCopies, verifier: Verifier, sites: readonly BackendHandle[], held: HeldBytes) {
    this.#local = local;
    this.#verifier = verifier;
    this.#sites = sites;
    this.#held = held;
  }

  /** `except`: a backend that is not asked, because it is the one to be filled. */
  async find(name: ContentName, signal: AbortSignal, except: string | null = null): Promise<CopySearch> {
    return await this.#search(name, signal, except, () => this.#local.examineUnlessKnown(name, signal));
  }

  /** Does what `find` does, and hashes the copy here, whatever is known of its file. Others may be sent that file meanwhile. */
  async findHashed(name: ContentName, signal: AbortSignal): Promise<CopySearch> {
    return await this.#search(name, signal, null, () => this.#local.examineElsewhere(name, signal));
  }

  async #search(
    name: ContentName,
    signal: AbortSignal,
    except: string | null,
    examine: () => Promise<CopyFinding>,
  ): Promise<CopySearch> {
    const bad: BadCopy[] = [];
    const faults: StorageError[] = [];
    if (except !== this.#local.id) {
      const blob = await this.#here(examine, bad, faults, signal);
      if (blob !== null) return { found: { blob, from: this.#local.id }, bad, faults };
    }
    const attempts = this.#sites
      .filter(({ id }) => id !== except)
      .toSorted((a, b) => a.expectedMs - b.expectedMs)
      .map((site) => this.#attempt(site, name, bad, faults));
    const found = (await firstGood(attempts, HEDGE_MS, signal)) ?? (await this.#inMemory(name));
    return { found, bad, faults };
  }

  /** Notes that bytes from here came out wrong elsewhere: a file can rot without being touched. */
  doubt(name: ContentName): void {
    this.#local.doubt(name);
  }

  async #here(examine: () => Promise<CopyFinding>, bad: BadCopy[], faults: StorageError[], signal: AbortSignal) {
    try {
      const finding = await examine();
      if (finding.kind === 'good') return finding.blob;
      bad.push({ backend: this.#local.id, kind: finding.kind });
      return null;
    } catch (error) {
      noteFault(error, faults, signal);
      return null;
    }
  }

  /** No place has the blob any more, and this process still serves it from memory: that copy can repair the others. */
  async #inMemory(name: ContentName): Promise<{ blob: VerifiedBlob; from: string } | null> {
    const copy = this.#held.copyOf(name);
    const blob = copy === null ? null : await this.#verifier.verify(copy);
    return blob === null ? null : { blob, from: MEMORY };
  }

  #attempt(site: BackendHandle, name: ContentName, bad: BadCopy[], faults: StorageError[]) {
    const attempt: Attempt<{ blob: VerifiedBlob; from: string }> = async (signal) => {
      try {
        site.admit();
        const finding = await site.read(name, signal);
        if (finding.kind === 'good') return { blob: finding.blob, from: site.id };
        bad.push({ backend: site.id, kind: finding.kind });
      } catch (error) {
        noteFault(error, faults, signal);
      }
      return null;
    };
    return attempt;
  }
}

function noteFault(error: unknown, faults: StorageError[], signal: AbortSignal): void {
  signal.throwIfAborted();
  if (!(error instanceof StorageError)) throw error;
  faults.push(error);
}
