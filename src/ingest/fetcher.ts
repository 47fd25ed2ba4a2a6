import type { Catalog } from '../catalog/catalog.ts';
import type { QueuedBlob } from '../catalog/seen-table.ts';
import { type ArchiveError, isForLater } from '../core/archive-errors.ts';
import { codeOf, messageOf } from '../core/blob/errors.ts';
import type { VersionHash } from '../core/blob/ids.ts';
import { RETENTION_SECONDS } from '../core/blob/limits.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { Notifier } from '../core/notifier.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import type { Clock } from '../core/time/clock.ts';
import { type Next, runLoop } from '../core/time/run-loop.ts';
import type { BlobNode, FetchOutcome } from '../node/blob-node.ts';
import { forgetBytes, type UnverifiedBlob, type VerifiedBlob, type Verifier } from '../verify/verified-blob.ts';
import type { Activity } from '../view/activity.ts';
import { FailureWatch } from './failure-watch.ts';
import { absentAtNode, type FailedFetch, failureRecord, isAbsentAtNode, wrongBytes } from './fetch-failure.ts';
import { nextAttemptMs } from './fetch-plan.ts';
import { FetchQueue } from './fetch-queue.ts';
import type { OrphanFinder } from './orphan-finder.ts';
import type { Poller } from './poller.ts';
import { SlowRequests } from './slow-requests.ts';
import type { Spooler } from './spooler.ts';

/** Takes bytes that match neither hash of the name that a block gave them. */
export interface MismatchKeeper {
  /** One fetch gave these; true: they are kept. */
  notice(versionHash: VersionHash, bytes: Uint8Array, signal: AbortSignal): Promise<boolean>;
}

export interface FetcherModules {
  readonly node: BlobNode;
  readonly catalog: Catalog;
  readonly poller: Poller;
  readonly spooler: Spooler;
  readonly orphans: OrphanFinder;
  readonly verifier: Verifier;
  readonly custom: MismatchKeeper;
  readonly conditions: ConditionBoard;
  readonly activity: Activity;
  readonly clock: Clock;
}

/**
 * Bytes that were fetched and are not durable yet. Writing goes on beside fetching, so that the node's answer and the
 * disk's sync do not wait for each other; beyond this (or this many under way), fetching waits.
 */
const UNSPOOLED = { bytes: 8 * 1_048_576, blobs: 1_024 } as const;
/** This many broken requests in a row are the node's fault; of fewer, a blob may be the cause. */
const BROKEN_IN_A_ROW = 3;
/** Milliseconds without requests after a request failed as a whole. */
const REQUEST_RETRY_MS = 1_000;

/** Fetches what the catalog wants, nearest deadline first, each blob once, and hands verified bytes to the spooler. */
export class Fetcher {
  readonly #requests: number;
  readonly #modules: FetcherModules;
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
  readonly #failures: FailureWatch;
  readonly #slow: SlowRequests;
  readonly #queue: FetchQueue;
  /** First blob of each request that failed as a whole since the last success. */
  readonly #broken = new Set<VersionHash>();
  #changesSeen = -1;
  #restUntilMs = 0;

  /** `requests`: how many may be under way at the node at a time. */
  constructor(requests: number, modules: FetcherModules) {
    this.#requests = requests;
    this.#modules = modules;
    this.#changes = Notifier.following(modules.poller.changes, modules.catalog.queueChanges);
    this.#wake = Notifier.following(this.#changes);
    this.#failures = new FailureWatch(modules.conditions);
    this.#slow = new SlowRequests(modules.conditions);
    this.#queue = new FetchQueue(modules.catalog, requests, ({ versionHash }) => this.#inFlight.has(versionHash));
    modules.activity.on('lost', ({ versionHash }) => this.#failures.settled(versionHash));
  }

  async run(signal: AbortSignal): Promise<void> {
    // Sleeps until something is due; what has no room, or no node, is woken by what ends.
    const step = (): Next => {
      const { catalog, clock } = this.#modules;
      const [lookedMs, restMs] = [catalog.nowMs(), this.#restUntilMs - clock.steadyMs()];
      const batch = this.#nextBatch();
      // The sleep goes by the times before the look: it does not pass over work that became due since, or a rest that ended since.
      if (batch === null) return restMs > 0 ? restMs : catalog.queueIdleMs(lookedMs);
      this.#start(batch, signal);
      return 0;
    };
    // Failures are reported at the end of each request: only a successful request clears the condition.
    const tell = (error: unknown) => {
      if (error !== null) this.#rest(error);
    };
    await runLoop('fetch', step, { signal, backoff: BACKOFF.node, wake: this.#wake, tell });
    await Promise.all(this.#running);
  }

  /** Nothing is being fetched, and nothing could be. */
  get idle(): boolean {
    return this.#running.size === 0;
  }

  #nextBatch(): QueuedBlob[] | null {
    const { poller } = this.#modules;
    if (this.#requestsUnderWay >= this.#requests || this.#unspooledBytes >= UNSPOOLED.bytes) return null;
    if (this.#inFlight.size >= UNSPOOLED.blobs) return null;
    if (!poller.mayFetch || this.#modules.clock.steadyMs() < this.#restUntilMs) return null;
    // News may be nearer to its deadline than what is queued here.
    if (this.#changesSeen !== this.#changes.notifications || this.#queue.isEmpty) {
      this.#changesSeen = this.#changes.notifications;
      this.#queue.read(this.#inFlight.size);
    }
    const batch = this.#queue.take(this.#retriesUnderWay);
    return batch.length === 0 ? null : batch;
  }

  #rest(error: unknown, blocksReadiness = true): void {
    this.#restUntilMs = this.#modules.clock.steadyMs() + REQUEST_RETRY_MS;
    this.#modules.conditions.setError('fetch', error, blocksReadiness);
  }

  #start(batch: readonly QueuedBlob[], signal: AbortSignal): void {
    this.#requestsUnderWay += 1;
    for (const { versionHash } of batch) this.#inFlight.add(versionHash);
    const work = this.#process(batch, signal)
      .catch((error: unknown) => {
        if (!signal.aborted) this.#rest(error);
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
      const result = await this.#judge(wanted, outcome, signal);
      const failure = result instanceof Error ? result : await this.#spool(result, wanted, signal);
      if (failure !== null) failures.push([wanted, failure]);
    };
    const bytes = outcomes.reduce((sum, outcome) => sum + bytesIn(outcome), 0);
    this.#unspooledBytes += bytes;
    try {
      await Promise.all(asked.map((wanted, index) => takeOver(wanted, outcomes[index])));
    } finally {
      this.#unspooledBytes -= bytes;
      this.#recordFailures(failures);
    }
  }

  /** The part of the work that is a request to the node: `#start` counted it. */
  async #ask(batch: readonly QueuedBlob[], signal: AbortSignal) {
    const isRetry = batch.some(({ attempts }) => attempts > 0);
    if (isRetry) this.#retriesUnderWay += 1;
    try {
      const asked = await this.#withoutOrphans(batch, signal);
      const outcomes = asked.length === 0 ? null : await this.#fetch(asked, signal);
      return outcomes === null ? { asked: [], outcomes: [] } : { asked, outcomes };
    } finally {
      this.#requestsUnderWay -= 1;
      if (isRetry) this.#retriesUnderWay -= 1;
      this.#wake.notify();
    }
  }

  /** null: the request failed as a whole. */
  async #fetch(wanted: readonly QueuedBlob[], signal: AbortSignal): Promise<FetchOutcome[] | null> {
    try {
      const names = `${wanted[0]?.versionHash ?? ''}${wanted.length > 1 ? ` and ${wanted.length - 1} others` : ''}`;
      const outcomes = await this.#slow.watch(names, this.#modules.node.fetchBlobs(wanted, signal));
      this.#modules.conditions.set('fetch', null);
      this.#broken.clear();
      return outcomes;
    } catch (error) {
      if (signal.aborted || !(error instanceof Error)) throw error;
      for (const { versionHash } of wanted.slice(0, 1)) this.#broken.add(versionHash);
      this.#rest(error, this.#broken.size >= BROKEN_IN_A_ROW);
      if (isConnectionLost(error)) this.#modules.poller.doubtChain();
      // One blob may have broken the request: each rests, and is asked for alone then, so that none holds up others.
      this.#recordFailures(wanted.map((one) => [one, error] as const));
      return null;
    }
  }

  /** Gives why there is no place for it; null: it is spooled. */
  async #spool(blob: VerifiedBlob, wanted: QueuedBlob, signal: AbortSignal): Promise<ArchiveError | null> {
    try {
      await this.#modules.spooler.spool(blob, spooledAs(wanted, blob), signal);
      this.#failures.settled(wanted.versionHash);
      return null;
    } catch (error) {
      if (isForLater(error)) return error;
      throw error;
    } finally {
      forgetBytes(blob);
    }
  }

  /** An orphan of a crash, stored without a row, is verified and indexed instead of fetched again. */
  async #withoutOrphans(batch: readonly QueuedBlob[], signal: AbortSignal): Promise<readonly QueuedBlob[]> {
    const { orphans } = this.#modules;
    const suspected = new Set(batch.filter((wanted) => orphans.mayHave(wanted)));
    if (suspected.size === 0) return batch;
    const missing: QueuedBlob[] = [];
    for (const wanted of batch) {
      const blob = suspected.has(wanted) ? await this.#findLeftOver(wanted, signal) : null;
      if (blob === null) missing.push(wanted);
      else {
        const failure = await this.#spool(blob, wanted, signal);
        if (failure !== null) this.#recordFailures([[wanted, failure]]);
      }
    }
    return missing;
  }

  /** A disk that does not give them, or not these, is no reason not to fetch them. */
  async #findLeftOver(wanted: QueuedBlob, signal: AbortSignal): Promise<VerifiedBlob | null> {
    try {
      return await this.#modules.orphans.find(wanted, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#modules.conditions.setError('disk', error, false);
      return null;
    }
  }

  async #judge(wanted: QueuedBlob, outcome: FetchOutcome | undefined, signal: AbortSignal) {
    if (outcome === undefined) return absentAtNode(wanted);
    switch (outcome.kind) {
      case 'bytes':
        return await this.#verified(outcome, wanted, signal);
      case 'absent':
        return absentAtNode(wanted);
      case 'failed':
        return outcome.error;
      default:
        return outcome satisfies never;
    }
  }

  async #verified(outcome: FetchOutcome & { kind: 'bytes' }, wanted: QueuedBlob, signal: AbortSignal) {
    const { verifier, custom } = this.#modules;
    // Custom bytes of an unmined blob are not kept: any client can make them up. Verification may detach the bytes.
    const isSuspect = outcome.mayBeCustom === true && wanted.hashType !== null;
    const copy = isSuspect ? new Uint8Array(outcome.blob.bytes) : null;
    const verified = await verifier.verify(namedByChain(outcome.blob, wanted));
    if (verified !== null) return verified;
    if (copy !== null) await custom.notice(wanted.versionHash, copy, signal);
    return outcome.doubt ?? wrongBytes(wanted, outcome.blob);
  }

  #recordFailures(failures: readonly FailedFetch[]): void {
    if (failures.length === 0) return;
    const { catalog, activity, poller } = this.#modules;
    const records = failures.map((failure) => failureRecord(failure, this.#whenAgain(...failure)));
    catalog.recordFailures(records);
    for (const record of records) activity.emit('failed', record);
    for (const [wanted, error] of failures) {
      const { versionHash, hashType } = wanted;
      // A blob that the node lists no more and no block contains was dropped or replaced before it was mined: no alarm
      // is due.
      if (isAbsentAtNode(error) && !poller.isListed(versionHash) && (hashType === null || this.#isPast(wanted)))
        this.#failures.settled(versionHash);
      else this.#failures.failed(versionHash, messageOf(error));
    }
  }

  /** null: the node says that it has not got a blob past its deadline; the blob rests until a list names it again. */
  #whenAgain(wanted: QueuedBlob, error: Error): number | null {
    const { poller, clock } = this.#modules;
    if (this.#isPast(wanted) && isAbsentAtNode(error) && !poller.isListed(wanted.versionHash)) return null;
    const { tip } = poller.state;
    const leftMs = tip === null ? 0 : (wanted.medianTimeSeconds + RETENTION_SECONDS - tip.medianTimeSeconds) * 1_000;
    return nextAttemptMs(wanted.attempts, clock.wallMs(), leftMs, Math.random);
  }

  /** Reports whether the deadline is over, by the chain's clock. */
  #isPast({ medianTimeSeconds }: QueuedBlob): boolean {
    const { tip } = this.#modules.poller.state;
    return tip !== null && tip.medianTimeSeconds > medianTimeSeconds + RETENTION_SECONDS;
  }
}

/** The hash type that the chain names excludes the other one. */
function namedByChain(blob: UnverifiedBlob, { hashType }: QueuedBlob): UnverifiedBlob {
  return hashType === null ? blob : { ...blob, hashType };
}

/** The next request may reach another node. */
function isConnectionLost(error: Error): boolean {
  const code = codeOf(error);
  return code === 'node/connection-lost' || code === 'node/unreachable';
}

function spooledAs(wanted: QueuedBlob, blob: VerifiedBlob) {
  return { ...wanted, sizeBytes: blob.bytes.length, isUnmined: wanted.hashType === null };
}

function bytesIn(outcome: FetchOutcome): number {
  return outcome.kind === 'bytes' ? outcome.blob.bytes.length : 0;
}
