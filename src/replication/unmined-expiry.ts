import type { Catalog } from '../catalog/catalog.ts';
import type { VersionHash } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Notifier } from '../core/notifier.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import { LONGEST_SLEEP_MS, type Next, runLoop } from '../core/time/run-loop.ts';
import type { ChainTip } from '../node/blob-node.ts';
import type { DamageWatch } from './damage-watch.ts';
import type { DiskQuota } from './disk-quota.ts';

/** The latest listing of the nodes. */
export interface NodeListing {
  readonly state: { readonly tip: ChainTip | null };
  isListed(versionHash: VersionHash): boolean;
}

/** On the chain's clock, since it was listed. A node forgets a transaction that is not mined for 14 days (its `mempoolexpiry`). */
export const UNMINED_KEPT_SECONDS = 15 * 86_400;
const GROUP_ENTRIES = 64;

/** Evicts blobs that were not mined in time and that no node lists any more; the catalog keeps that they were here. */
export class UnminedExpiry {
  readonly #catalog: Catalog;
  readonly #room: DiskQuota;
  readonly #damage: Pick<DamageWatch, 'forget'>;
  readonly #poller: NodeListing;
  readonly #conditions: ConditionBoard;
  readonly #changes: Notifier;

  /** @param changes notifies when the chain moved, and when the list is current or names something no more */
  constructor(
    catalog: Catalog,
    room: DiskQuota,
    damage: Pick<DamageWatch, 'forget'>,
    poller: NodeListing,
    conditions: ConditionBoard,
    changes: Notifier,
  ) {
    this.#catalog = catalog;
    this.#room = room;
    this.#damage = damage;
    this.#poller = poller;
    this.#conditions = conditions;
    this.#changes = changes;
  }

  async run(signal: AbortSignal): Promise<void> {
    const conditions = this.#conditions;
    const step = async (): Promise<Next> => {
      await this.#expire(signal);
      return LONGEST_SLEEP_MS;
    };
    const policy = { signal, backoff: BACKOFF.local, wake: this.#changes, conditions, blocksReadiness: false };
    await runLoop('unmined', step, policy);
  }

  async #expire(signal: AbortSignal): Promise<void> {
    const { tip } = this.#poller.state;
    for (let skip = 0; tip !== null && this.#room.knowsWhatIsMined(); ) {
      const old = this.#catalog.unmined.before(tip.medianTimeSeconds - UNMINED_KEPT_SECONDS, GROUP_ENTRIES, skip);
      if (old.length === 0) return;
      const gone = await this.#room.expire(
        old.filter(({ versionHash }) => !this.#poller.isListed(versionHash)),
        signal,
        // A copy that rotted is not damaged any more, also where the disk does not delete it.
        (expired) => {
          for (const one of expired) this.#damage.forget(one);
        },
      );
      // A blob that is still listed, or held elsewhere, stays where it is in this order.
      skip += old.length - gone;
    }
  }
}
