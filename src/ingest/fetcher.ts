import type { Catalog } from '../catalog/catalog.ts';
import type { QueuedBlob } from '../catalog/seen-table.ts';
import type { VersionHash } from '../core/blob/ids.ts';
import { Notifier } from '../core/notifier.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import { type Next, runLoop } from '../core/time/run-loop.ts';
import type { FetchOutcome } from '../node/blob-node.ts';
import type { BlobIntake } from './blob-intake.ts';
import type { FailedFetch } from './fetch-failure.ts';
import type { FetchFailures } from './fetch-failures.ts';
import { FetchQueue } from './fetch-queue.ts';
import type { NodeRequests } from './node-requests.ts';
import type { Poller } from './poller.ts';

/**
 * Bytes that were fetched and are not durable yet. Writing goes on beside fetching, so that the node's answer and the
 * disk's sync do not wait for each other; beyond this (or this many under way), fetching waits.
 */
const UNSPOOLED = { bytes: 8 * 1_048_576, blobs: 1_024 } as const;

/** Fetches what the catalog wants, nearest deadline first, each blob once, and hands verified bytes to the spooler. */
export class Fetcher {
  readonly #maxRequests: number;
  readonly #catalog: Catalog;
  readonly #poller: Poller;
  readonly #requests: NodeRequests;
  readonly #intake: BlobIntake;
  readonly #failures: FetchFailures;
  readonly #inFlight = new Set<VersionHash>();
  readonly #running = new Set<Promise<void>>();
  #requestsUnderWay = 0;
  /** The requests under way for blobs that failed before. */
  #retriesUnderWay = 0;
  #unspooledBytes = 0;
  /** Notifies when the queue is to be read again. */
  readonly #changes: Notifier;
  /** The same, and when there is room for another request. */
  readonly #wake: Notifier;
  /** Notifies when nothing is being fetched any more. */
  readonly rested = new Notifier();
  readonly #queue: FetchQueue;
  #changesSeen = -1;

  /** `maxRequests`: how many may be under way at the node at a time. */
  constructor(
    maxRequests: number,
    catalog: Catalog,
    poller: Poller,
    requests: NodeRequests,
    intake: BlobIntake,
    failures: FetchFailures,
  ) {
    this.#maxRequests = maxRequests;
    this.#catalog = catalog;
    this.#poller = poller;
    this.#requests = requests;
    this.#intake = intake;
    this.#failures = failures;
    this.#changes = Notifier.following(poller.changes, catalog.queueChanges);
    this.#wake = Notifier.following(this.#changes);
    this.#queue = new FetchQueue(catalog, maxRequests, ({ versionHash }) => this.#inFlight.has(versionHash));
  }

  async run(signal: AbortSignal): Promise<void> {
    // Sleeps until something is due; what has no room, or no node, is woken by what ends.
    const step = (): Next => {
      const [lookedMs, restMs] = [this.#catalog.nowMs(), this.#requests.restMs];
      const batch = this.#nextBatch();
      // The sleep goes by the times before the look: it does not pass over work that became due since, or a rest that ended since.
      if (batch === null) return restMs > 0 ? restMs : this.#catalog.queueIdleMs(lookedMs);
      this.#start(batch, signal);
      return 0;
    };
    // Failures are reported at the end of each request: only a successful request clears the condition.
    const tell = (error: unknown) => {
      if (error !== null) this.#requests.rest(error);
    };
    await runLoop('fetch', step, { signal, backoff: BACKOFF.node, wake: this.#wake, tell });
    await Promise.all(this.#running);
  }

  /** Nothing is being fetched, and nothing could be. */
  get idle(): boolean {
    return this.#running.size === 0;
  }

  #nextBatch(): QueuedBlob[] | null {
    if (this.#requestsUnderWay >= this.#maxRequests || this.#unspooledBytes >= UNSPOOLED.bytes) return null;
    if (this.#inFlight.size >= UNSPOOLED.blobs) return null;
    if (!this.#poller.mayFetch || this.#requests.restMs > 0) return null;
    // News may be nearer to its deadline than what is queued here.
    if (this.#changesSeen !== this.#changes.notifications || this.#queue.isEmpty) {
      this.#changesSeen = this.#changes.notifications;
      this.#queue.read(this.#inFlight.size);
    }
    const batch = this.#queue.take(this.#retriesUnderWay);
    return batch.length === 0 ? null : batch;
  }

  #start(batch: readonly QueuedBlob[], signal: AbortSignal): void {
    this.#requestsUnderWay += 1;
    for (const { versionHash } of batch) this.#inFlight.add(versionHash);
    const work = this.#process(batch, signal)
      .catch((error: unknown) => {
        if (!signal.aborted) this.#requests.rest(error);
      })
      .finally(() => {
        for (const { versionHash } of batch) this.#inFlight.delete(versionHash);
        this.#running.delete(work);
        this.#wake.notify();
        if (this.idle) this.rested.notify();
      });
    this.#running.add(work);
  }

  async #process(batch: readonly QueuedBlob[], signal: AbortSignal): Promise<void> {
    const { asked, outcomes } = await this.#ask(batch, signal);
    const failures: FailedFetch[] = [];
    const takeOver = async (wanted: QueuedBlob, outcome: FetchOutcome | undefined) => {
      const failure = await this.#intake.take(wanted, outcome, signal);
      if (failure !== null) failures.push([wanted, failure]);
    };
    const bytes = outcomes.reduce((sum, outcome) => sum + bytesIn(outcome), 0);
    this.#unspooledBytes += bytes;
    try {
      await Promise.all(asked.map((wanted, index) => takeOver(wanted, outcomes[index])));
    } finally {
      this.#unspooledBytes -= bytes;
      this.#failures.record(failures);
    }
  }

  /** The part of the work that is a request to the node: `#start` counted it. */
  async #ask(batch: readonly QueuedBlob[], signal: AbortSignal) {
    const isRetry = batch.some(({ attempts }) => attempts > 0);
    if (isRetry) this.#retriesUnderWay += 1;
    try {
      const asked = await this.#intake.withoutOrphans(batch, signal);
      const outcomes = asked.length === 0 ? null : await this.#requests.fetch(asked, signal);
      return outcomes === null ? { asked: [], outcomes: [] } : { asked, outcomes };
    } finally {
      this.#requestsUnderWay -= 1;
      if (isRetry) this.#retriesUnderWay -= 1;
      this.#wake.notify();
    }
  }
}

function bytesIn(outcome: FetchOutcome): number {
  return outcome.kind === 'bytes' ? outcome.blob.bytes.length : 0;
}
