import { LRUCache } from 'lru-cache';
import { messageOf } from '../../blob/errors.ts';
import { encodeHex } from '../../blob/hex.ts';
import { parseVersionHash, type VersionHash } from '../../blob/ids.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { CustomName, CustomStore } from '../../storage/custom-store.ts';
import { StorageError } from '../../storage/errors.ts';
import { type BlobHasher, hashWith } from '../../verify/hasher.ts';
import type { ConditionBoard } from '../condition-board.ts';
import type { CustomLookup, CustomView } from '../custom-view.ts';
import { Pulse } from '../pulse.ts';
import type { Site } from '../replicate/site.ts';

export interface CustomModules {
  readonly catalog: Catalog;
  readonly hasher: BlobHasher;
  readonly folder: CustomStore;
  readonly sites: readonly Site[];
  readonly conditions: ConditionBoard;
}

/** Contents of which is remembered what came last. */
const REMEMBERED = 10_000;
const GROUP = 16;
const IDLE_MS = 5_000;

/**
 * Bytes that match neither hash of what the chain commits to, as dialect `svc` allows them: what came the same twice is
 * kept under its own hash, apart from everything that is proven. It is never verified, and it is not done with that: the
 * content stays in the queue, where every node is asked for it again.
 */
export class CustomKeeper implements CustomView {
  readonly #modules: CustomModules;
  readonly #lastSeen = new LRUCache<VersionHash, VersionHash>({ max: REMEMBERED });
  readonly #news = new Pulse();

  constructor(modules: CustomModules) {
    this.#modules = modules;
  }

  /** One fetch gave these; true: they are kept. Those that match a hash after all are none of its business. */
  async notice(versionHash: VersionHash, bytes: Uint8Array, signal: AbortSignal): Promise<boolean> {
    const { hasher, folder, catalog } = this.#modules;
    const keccak = this.#keccakOf(bytes);
    const isProven = keccak === versionHash || encodeHex(hashWith(hasher, 'blake2s256', bytes)) === versionHash;
    if (isProven || bytes.length === 0) return false;
    const name = { versionHash, keccak };
    if (catalog.custom.isKept(name)) return true;
    const isSame = this.#lastSeen.get(versionHash) === keccak;
    this.#lastSeen.set(versionHash, keccak);
    if (!isSame) return false;
    await folder.putCustom(name, bytes, signal);
    const found = await folder.getCustom(name, signal);
    if (found === null || this.#keccakOf(found) !== keccak) return false;
    catalog.custom.record(name, bytes.length);
    this.#news.ring();
    return true;
  }

  /** Brings them to every backend with names. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const site of this.#modules.sites) await this.#fill(site, signal);
      this.#tell();
      await this.#news.wait(IDLE_MS, signal);
    }
  }

  async read(versionHash: VersionHash, keccak: VersionHash, signal: AbortSignal): Promise<CustomLookup> {
    const { catalog, folder, sites } = this.#modules;
    const name = { versionHash, keccak };
    if (catalog.withheld.has({ versionHash, hashType: null })) return { kind: 'withheld' };
    if (!catalog.custom.isKept(name)) return { kind: 'absent' };
    let fault: string | null = null;
    for (const store of [folder, ...sites.map(({ store: remote }) => remote)]) {
      try {
        const bytes = (await store.getCustom?.(name, signal)) ?? null;
        if (bytes !== null && this.#keccakOf(bytes) === keccak) return { kind: 'found', bytes };
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof StorageError)) throw error;
        fault = error.message;
      }
    }
    return { kind: 'unavailable', message: fault ?? 'No copy of it is whole now.' };
  }

  async #fill(site: Site, signal: AbortSignal): Promise<void> {
    const { catalog, folder } = this.#modules;
    const { store, id } = site;
    const { putCustom, getCustom } = store;
    if (putCustom === undefined || getCustom === undefined || !site.isAdmitted) return;
    try {
      for (const name of catalog.custom.uncopied(id, GROUP)) {
        const bytes = await folder.getCustom(name, signal);
        if (bytes === null || this.#keccakOf(bytes) !== name.keccak) continue;
        await site.judged(() => putCustom.call(store, name, bytes, signal), signal);
        const there = await site.judged(() => getCustom.call(store, name, signal), signal);
        if (there !== null && this.#keccakOf(there) === name.keccak) catalog.custom.recordCopy(name, id);
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#modules.conditions.note('custom', `${id} does not take custom bytes now: ${messageOf(error)}`);
    }
  }

  #tell(): void {
    const { catalog, conditions } = this.#modules;
    const names = catalog.custom.names();
    const [first] = names;
    conditions.set(
      'custom',
      first === undefined
        ? null
        : {
            code: 'archive/custom-commitment',
            message: `${names.length} blobs on chain have bytes at the node that match neither hash; one is ${first.versionHash}. They are kept apart, unverified.`,
            hint: 'Look at the node: either its cache is damaged, or somebody commits to something else. They are under /v1/custom/, and every node is asked again.',
            blocksReadiness: false,
          },
    );
  }

  #keccakOf(bytes: Uint8Array): CustomName['keccak'] {
    return parseVersionHash(encodeHex(hashWith(this.#modules.hasher, 'keccak256', bytes)));
  }
}
