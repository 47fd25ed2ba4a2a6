import type { Catalog } from '../catalog/catalog.ts';
import type { QueuedBlob } from '../catalog/seen-table.ts';
import type { UnsavedBlob } from '../catalog/unsaved-rows.ts';
import { isAtRisk } from '../chain/deadline-watch.ts';
import { isForLater } from '../core/archive-errors.ts';
import type { ContentName, VersionHash } from '../core/blob/ids.ts';
import { RETENTION_SECONDS } from '../core/blob/limits.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Notifier } from '../core/notifier.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import type { Clock } from '../core/time/clock.ts';
import { type Next, runLoop } from '../core/time/run-loop.ts';
import type { Spooler } from '../ingest/spooler.ts';
import type { ChainTip } from '../node/blob-node.ts';
import { forgetBytes } from '../verify/verified-blob.ts';
import type { Peer } from './peer.ts';

const LOOK_MS = 15_000;
/** Blobs that are asked for in one go. */
const GROUP = 16;
/** A blob that no peer gave is asked for again after this. */
const REST_MS = 300_000;
/** After this, the window of a blob that was asked for is over. */
const FORGOTTEN_MS = RETENTION_SECONDS * 1_000;
/** The node has answered for such a blob, and not with its bytes. */
const MISSING_AT_NODE: ReadonlySet<string | null> = new Set(['archive/absent-at-node', 'archive/wrong-bytes']);

/**
 * Asks the peers for blobs that are on chain and not here, while their window is open: where the node has answered that it
 * has not got them, or gave other bytes, and where half of the window is over. The judge of losses asks when it is over.
 */
export class PeerRescue {
  /** The peers, asked in this order. */
  readonly #peers: readonly Pick<Peer, 'name' | 'help'>[];
  readonly #catalog: Catalog;
  readonly #poller: { readonly state: { readonly tip: ChainTip | null } };
  /** Notifies when the node has listed something, and when it has been asked for everything. */
  readonly #changes: Notifier;
  readonly #spooler: Pick<Spooler, 'spool'>;
  readonly #conditions: ConditionBoard;
  readonly #clock: Clock;
  /** Steady time at which the peers had answered for a blob. */
  readonly #askedMs = new Map<VersionHash, number>();

  constructor(
    peers: readonly Pick<Peer, 'name' | 'help'>[],
    catalog: Catalog,
    poller: { readonly state: { readonly tip: ChainTip | null } },
    changes: Notifier,
    spooler: Pick<Spooler, 'spool'>,
    conditions: ConditionBoard,
    clock: Clock,
  ) {
    this.#peers = peers;
    this.#catalog = catalog;
    this.#poller = poller;
    this.#changes = changes;
    this.#spooler = spooler;
    this.#conditions = conditions;
    this.#clock = clock;
  }

  async run(signal: AbortSignal): Promise<void> {
    const [peers, changes, conditions] = [this.#peers, this.#changes, this.#conditions];
    if (peers.length === 0) return;
    const step = async (): Promise<Next> => ((await this.#rescueSome(signal)) ? 0 : LOOK_MS);
    await runLoop('peers', step, {
      signal,
      backoff: BACKOFF.local,
      wake: changes,
      conditions,
      blocksReadiness: false,
    });
  }

  /** true: there may be more to ask for at once. */
  async #rescueSome(signal: AbortSignal): Promise<boolean> {
    const { tip } = this.#poller.state;
    if (tip === null) return false;
    const due = this.#due(tip.medianTimeSeconds);
    for (const wanted of due) {
      try {
        await this.#rescue(wanted, signal);
      } finally {
        this.#askedMs.set(wanted.versionHash, this.#clock.steadyMs());
      }
    }
    return due.length === GROUP;
  }

  /**
   * The blobs that were asked for longest ago come first: behind a slow peer, the first of them have rested before the last
   * had their turn. Among those of which no peer was asked, the nearest deadline comes first.
   */
  #due(tipSeconds: number): (QueuedBlob & ContentName)[] {
    const catalog = this.#catalog;
    const nowMs = this.#clock.steadyMs();
    for (const [hash, atMs] of this.#askedMs) if (atMs <= nowMs - FORGOTTEN_MS) this.#askedMs.delete(hash);
    const askedMs = ({ versionHash }: UnsavedBlob) => this.#askedMs.get(versionHash) ?? Number.MIN_SAFE_INTEGER;
    const due = catalog.losses.unsaved
      .since(tipSeconds - RETENTION_SECONDS)
      .filter(
        (one) =>
          askedMs(one) <= nowMs - REST_MS &&
          (MISSING_AT_NODE.has(one.lastErrorCode) || isAtRisk(one.medianTimeSeconds, tipSeconds)),
      )
      .toSorted((a, b) => askedMs(a) - askedMs(b));
    const found: (QueuedBlob & ContentName)[] = [];
    for (const { versionHash } of due) {
      if (found.length === GROUP) break;
      const wanted = catalog.findQueued(versionHash);
      if (wanted === null || wanted.hashType === null) continue;
      found.push({ ...wanted, hashType: wanted.hashType });
    }
    return found;
  }

  async #rescue(wanted: QueuedBlob & ContentName, signal: AbortSignal): Promise<void> {
    const [peers, catalog, spooler] = [this.#peers, this.#catalog, this.#spooler];
    const { hashType, versionHash } = wanted;
    for (const peer of peers) {
      // The node may have given it meanwhile, or an operator taken it down.
      if (catalog.findQueued(versionHash) === null) return;
      const blob = await peer.help({ hashType, versionHash }, signal);
      if (blob === null) continue;
      try {
        await spooler.spool(blob, { ...wanted, sizeBytes: blob.bytes.length }, signal);
        catalog.recordGiver({ hashType, versionHash }, peer.name);
      } catch (error) {
        if (!isForLater(error)) throw error;
      } finally {
        forgetBytes(blob);
      }
      return;
    }
  }
}
