import type { Catalog } from '../catalog/catalog.ts';
import type { QueuedBlob } from '../catalog/seen-table.ts';
import { messageOf } from '../core/blob/errors.ts';
import type { VersionHash } from '../core/blob/ids.ts';
import { RETENTION_SECONDS } from '../core/blob/limits.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Activity } from '../view/activity.ts';
import { FailureWatch } from './failure-watch.ts';
import { type FailedFetch, failureRecord, isAbsentAtNode } from './fetch-failure.ts';
import { nextAttemptMs } from './fetch-plan.ts';
import type { Poller } from './poller.ts';

/** Records blobs that did not come: when each is asked for again, and what people are told of it. */
export class FetchFailures {
  readonly #catalog: Catalog;
  readonly #poller: Poller;
  readonly #activity: Activity;
  readonly #watch: FailureWatch;

  constructor(catalog: Catalog, poller: Poller, conditions: ConditionBoard, activity: Activity) {
    this.#catalog = catalog;
    this.#poller = poller;
    this.#activity = activity;
    this.#watch = new FailureWatch(conditions);
    activity.on('lost', ({ versionHash }) => this.#watch.settled(versionHash));
    // Also from a peer or a file. What a backend was found to hold, or what was taken down, has left the queue.
    activity.on('spooled', ({ versionHash }) => this.#watch.settled(versionHash));
    activity.on('tip', () => this.#watch.settleUnless((versionHash) => this.#isWaiting(versionHash)));
  }

  record(failures: readonly FailedFetch[]): void {
    if (failures.length === 0) return;
    const records = failures.map((failure) => failureRecord(failure, this.#whenAgain(...failure)));
    this.#catalog.recordFailures(records);
    for (const record of records) this.#activity.emit('failed', record);
    for (const [wanted, error] of failures) {
      const { versionHash, hashType } = wanted;
      // The blob came by another way while the fetch was under way.
      if (!this.#isWaiting(versionHash)) this.#watch.settled(versionHash);
      // A blob that the node lists no more and no block contains was dropped or replaced before it was mined: no alarm
      // is due.
      else if (
        isAbsentAtNode(error) &&
        !this.#poller.isListed(versionHash) &&
        (hashType === null || this.#isPast(wanted))
      )
        this.#watch.settled(versionHash);
      else this.#watch.failed(versionHash, messageOf(error));
    }
  }

  #isWaiting(versionHash: VersionHash): boolean {
    return this.#catalog.findQueued(versionHash) !== null;
  }

  /** null: the node says that it has not got a blob past its deadline; the blob rests until a list names it again. */
  #whenAgain(wanted: QueuedBlob, error: Error): number | null {
    if (this.#isPast(wanted) && isAbsentAtNode(error) && !this.#poller.isListed(wanted.versionHash)) return null;
    const { tip } = this.#poller.state;
    const leftMs = tip === null ? 0 : (wanted.medianTimeSeconds + RETENTION_SECONDS - tip.medianTimeSeconds) * 1_000;
    return nextAttemptMs(wanted.attempts, this.#catalog.nowMs(), leftMs, Math.random);
  }

  /** Reports whether the deadline is over, by the chain's clock. */
  #isPast({ medianTimeSeconds }: QueuedBlob): boolean {
    const { tip } = this.#poller.state;
    return tip !== null && tip.medianTimeSeconds > medianTimeSeconds + RETENTION_SECONDS;
  }
}
