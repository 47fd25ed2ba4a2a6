import type { Catalog } from '../catalog/catalog.ts';
import type { SpooledContent } from '../catalog/content-table.ts';
import type { ContentName } from '../core/blob/ids.ts';
import type { BackendHandle } from '../replication/backend-handle.ts';
import { StorageError } from '../storage/errors.ts';
import type { LocalStore } from '../storage/local/local-store.ts';
import { forgetBytes, type VerifiedBlob, type Verifier } from '../verify/verified-blob.ts';
import type { HeldBytes } from '../view/held-bytes.ts';
import type { SourceAnswered } from './backfill-report.ts';

export type OwnFinding =
  /** The catalog has its row. */
  | { readonly kind: 'held' }
  /** Without a row: in the data folder, where a crash left it, in the memory of this process, or unpinned on a backend. */
  | { readonly kind: 'orphan'; readonly blob: VerifiedBlob }
  /** A backend gave it back whole, and has its row now. */
  | { readonly kind: 'recorded' }
  | { readonly kind: 'none'; readonly answers: readonly SourceAnswered[] };

/**
 * The data folder and the backends, asked before anybody else: what a crash left here is not fetched again, and a job
 * with an empty folder learns from the bucket what is stored already.
 */
export class OwnPlaces {
  readonly #store: LocalStore;
  readonly #sites: readonly BackendHandle[];
  readonly #catalog: Catalog;
  readonly #verifier: Verifier;
  readonly #held: HeldBytes;
  /** Done: the catalog knows all that the backends hold. */
  readonly #catalogRebuild: { readonly isDone: boolean };

  constructor(
    store: LocalStore,
    sites: readonly BackendHandle[],
    catalog: Catalog,
    verifier: Verifier,
    held: HeldBytes,
    catalogRebuild: { readonly isDone: boolean },
  ) {
    this.#store = store;
    this.#sites = sites;
    this.#catalog = catalog;
    this.#verifier = verifier;
    this.#held = held;
    this.#catalogRebuild = catalogRebuild;
  }

  /** `content`: as its row is to be, where it is found on a backend. */
  async find(name: ContentName, content: Omit<SpooledContent, 'sizeBytes'>, signal: AbortSignal): Promise<OwnFinding> {
    const rows = this.#catalog.find(name.versionHash);
    if (rows.some(({ hashType, state }) => hashType === name.hashType && state !== 'seen')) return { kind: 'held' };
    const blob = await this.#here(name, signal);
    if (blob !== null) return { kind: 'orphan', blob };
    if (this.#catalogRebuild.isDone) return { kind: 'none', answers: [] };
    const answers: SourceAnswered[] = [];
    for (const site of this.#sites) {
      const answer = await this.#at(site, name, content, signal);
      if ('kind' in answer) return answer;
      answers.push(answer);
    }
    return { kind: 'none', answers };
  }

  /**
   * Asks the archive's own nodes, backends and peers for content that no source gave. Returns their answers; null when
   * one of them has it or did not answer.
   */
  async absence(name: ContentName, signal: AbortSignal): Promise<SourceAnswered[] | null> {
    const [store, sites, held] = [this.#store, this.#sites, this.#held];
    if (held.copyOf(name) !== null) return null;
    const answers: SourceAnswered[] = [];
    try {
      if ((await store.stat(name, signal)) !== null) return null;
      answers.push({ source: `store ${store.id}`, answered: 'absent', why: null });
      for (const site of sites) {
        site.admit();
        if (await site.hasBytes(name, signal)) return null;
        answers.push({ source: `backend ${site.id}`, answered: 'absent', why: null });
      }
      return answers;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof StorageError) return null;
      throw error;
    }
  }

  async #here({ hashType, versionHash }: ContentName, signal: AbortSignal): Promise<VerifiedBlob | null> {
    const [store, verifier, held] = [this.#store, this.#verifier, this.#held];
    const name = { hashType, versionHash };
    try {
      const bytes = held.copyOf(name)?.bytes ?? (await store.get(name, signal));
      return bytes === null ? null : await verifier.verify({ ...name, bytes });
    } catch (error) {
      signal.throwIfAborted();
      // A disk that does not give it is no reason not to fetch it: writing says then what is wrong.
      if (error instanceof StorageError) return null;
      throw error;
    }
  }

  async #at(
    site: BackendHandle,
    name: ContentName,
    content: Omit<SpooledContent, 'sizeBytes'>,
    signal: AbortSignal,
  ): Promise<SourceAnswered | Exclude<OwnFinding, { kind: 'none' }>> {
    const source = `backend ${site.id}`;
    try {
      site.admit();
      const finding = await site.read(name, signal);
      if (finding.kind !== 'good') {
        return { source, answered: finding.kind === 'damaged' ? 'wrong-bytes' : 'absent', why: null };
      }
      const { blob } = finding;
      if (!(await site.isKept(name, signal))) return { kind: 'orphan', blob };
      const sizeBytes = blob.bytes.length;
      forgetBytes(blob);
      this.#catalog.replicas.recordFound(site.id, [{ ...content, sizeBytes }]);
      return { kind: 'recorded' };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof StorageError)) throw error;
      return { source, answered: 'no-answer', why: error.message };
    }
  }
}
