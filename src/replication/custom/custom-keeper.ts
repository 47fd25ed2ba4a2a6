import { LRUCache } from 'lru-cache';
import type { Catalog } from '../../catalog/catalog.ts';
import { encodeHex } from '../../core/blob/hex.ts';
import { parseVersionHash, type VersionHash } from '../../core/blob/ids.ts';
import type { ConditionBoard } from '../../core/conditions/condition-board.ts';
import { Pulse } from '../../core/pulse.ts';
import { type BlobHasher, hashWith } from '../../verify/hasher.ts';
import type { CustomLookup, CustomView } from '../../view/custom-view.ts';
import { matchesAnyHash } from './adopt-custom.ts';
import type { CustomMender } from './custom-mender.ts';
import type { CustomPlaces } from './custom-places.ts';

export interface CustomModules {
  readonly catalog: Catalog;
  readonly hasher: BlobHasher;
  readonly places: CustomPlaces;
  readonly mender: CustomMender;
  readonly conditions: ConditionBoard;
}

/** Contents of which is remembered what came last. */
const REMEMBERED = 10_000;
const IDLE_MS = 5_000;
/** Every round counts the contents again: from this many on, the count stops. */
const MAX_COUNTED = 10_000;
/** What no place had is looked for everywhere again after so many rounds. */
const LOST_EVERY_ROUNDS = 60;

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
    const { hasher, places, catalog } = this.#modules;
    if (bytes.length === 0 || matchesAnyHash(versionHash, bytes, hasher)) return false;
    if (catalog.withheld.has({ versionHash, hashType: null })) return false;
    const keccak = parseVersionHash(encodeHex(hashWith(hasher, 'keccak256', bytes)));
    const name = { versionHash, keccak };
    if (catalog.custom.isGoodAt(places.folder.id, name)) return true;
    // What was kept once and is damaged now need not come twice again.
    const isSame = this.#lastSeen.get(versionHash) === keccak || catalog.custom.isKnown(name);
    this.#lastSeen.set(versionHash, keccak);
    if (!isSame || !(await places.folder.bring(name, bytes, signal))) return false;
    catalog.custom.record(name, bytes.length, places.folder.id);
    this.#news.ring();
    return true;
  }

  /** Brings them to every backend with names, and mends what is damaged. */
  async run(signal: AbortSignal): Promise<void> {
    for (let round = 0; !signal.aborted; round = (round + 1) % LOST_EVERY_ROUNDS) {
      try {
        await this.#modules.mender.mend(round === 0 ? 'all' : 'held', signal);
        this.#tell();
      } catch (error) {
        if (signal.aborted) return;
        this.#modules.conditions.setError('custom', error, false);
      }
      await this.#news.wait(IDLE_MS, signal);
    }
  }

  async read(versionHash: VersionHash, keccak: VersionHash, signal: AbortSignal): Promise<CustomLookup> {
    const { catalog, places } = this.#modules;
    const name = { versionHash, keccak };
    const either = { versionHash, hashType: null };
    if (catalog.withheld.has(either)) return { kind: 'withheld', publicReason: catalog.withheld.publicReason(either) };
    if (!catalog.custom.isKnown(name)) return { kind: 'absent' };
    const { bytes, fault } = await places.find(name, signal);
    if (bytes !== null) return { kind: 'found', bytes };
    return { kind: 'unavailable', message: fault?.message ?? 'No copy of it is whole now.' };
  }

  #tell(): void {
    const { catalog, conditions, places } = this.#modules;
    const [first] = catalog.custom.someNames(1);
    const names = first === undefined ? 0 : catalog.custom.countNames(MAX_COUNTED);
    conditions.set(
      'custom',
      first === undefined
        ? null
        : {
            code: 'archive/custom-commitment',
            message: `${names < MAX_COUNTED ? '' : 'At least '}${names.toLocaleString('en')} blobs on chain have bytes at the node that match neither hash; one is ${first}. They are kept apart, unverified.`,
            hint: 'Look at the node: either its cache is damaged, or somebody commits to something else. They are under /v1/custom/, and every node is asked again.',
            blocksReadiness: false,
          },
    );
    const damaged = places.all.filter(({ id }) => catalog.custom.damagedCount(id) > 0).map(({ id }) => id);
    conditions.set(
      'custom-copies',
      damaged.length === 0
        ? null
        : {
            code: 'archive/damaged-copy',
            message: `Copies of custom commitments are missing or damaged at ${damaged.join(', ')}; of ${catalog.custom.lostCount()} no copy is left.`,
            hint: 'They are replaced from another copy, or from the node while it has them. `holdfast check` lists them; look at that disk or server.',
            blocksReadiness: false,
          },
    );
  }
}
