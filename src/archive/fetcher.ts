import { codeOf, messageOf } from '../blob/errors.ts';
import type { VersionHash } from '../blob/ids.ts';
import { RETENTION_SECONDS } from '../blob/limits.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { WantedBlob } from '../catalog/wanted-table.ts';
import { forgetBytes, type UnverifiedBlob, type VerifiedBlob, type Verifier } from '../verify/verified-blob.ts';
import type { Activity } from './activity.ts';
import type { BlobNode, FetchOutcome } from './blob-node.ts';
import type { ConditionBoard } from './condition-board.ts';
import { ArchiveError } from './errors.ts';
import { BATCH_LIMITS, isSizeAllowed, NEVER_MS, nextAttemptMs, takeBatch } from './fetch-plan.ts';
import type { LeftOver } from './left-over.ts';
import type { Poller } from './poller.ts';
import type { Pulse } from './pulse.ts';
import type { Spooler } from './spooler.ts';

export interface FetcherModules {
  readonly node: BlobNode;
  readonly catalog: Catalog;
  readonly poller: Poller;
  readonly spooler: Spooler;
  readonly leftOver: LeftOver;
  readonly verifier: Verifier;
  readonly conditions: ConditionBoard;
  readonly activity: Activity;
  readonly nowMs: () => number;
}

/** Rows of the queue that are looked at in one go. */
const LOOK_AHEAD = 512;
/**
 * Bytes that were fetched and are not durable yet. Writing goes on beside fetching, so that the node's answer and the
 * disk's sync do not wait for each other; beyond this (or this many under way), fetching waits.
 */
const UNSPOOLED = { bytes: 8 * 1_048_576, blobs: 512 } as const;
/** How long nothing is asked for after a request failed as a whole. */
const REQUEST_RETRY_MS = 1_000;
/** The queue is looked at again after this though nobody rang: for attempts that are due. */
const IDLE_MS = 1_000;

/** Fetches what the catalog wants, nearest deadline first, each blob once, and hands verified bytes to the spooler. */
export class Fetcher {
  readonly #requests: number;
  readonly #modules: FetcherModules;
  readonly #inFlight = new Set<VersionHash>();
  readonly #running = new Set<Promise<void>>();
  #requestsUnderWay = 0;
  #unspooledBytes = 0;
  readonly #wake: Pulse;
  #queue: WantedBlob[] = [];
  #ringsSeen = -1;
  #restUntilMs = 0;

  /** `requests`: how many may be under way at the node at a time. */
  constructor(requests: number, modules: FetcherModules) {
    this.#requests = requests;
    this.#modules = modules;
    this.#wake = modules.poller.news;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const batch = this.#nextBatch();
      if (batch === null) {
        await this.#wake.wait(IDLE_MS, signal);
        continue;
      }
      this.#start(batch, signal);
    }
    await Promise.all(this.#running);
  }

  /** Nothing is being fetched, and nothing could be. */
  get idle(): boolean {
    return this.#running.size === 0;
  }

  #nextBatch(): WantedBlob[] | null {
    const { poller, catalog, nowMs } = this.#modules;
    if (this.#requestsUnderWay >= this.#requests || this.#unspooledBytes >= UNSPOOLED.bytes) return null;
    if (this.#inFlight.size >= UNSPOOLED.blobs) return null;
    if (!poller.mayFetch || nowMs() < this.#restUntilMs) return null;
    // News may be nearer to its deadline than what is queued here.
    if (this.#ringsSeen !== this.#wake.rings || this.#queue.length === 0) {
      this.#ringsSeen = this.#wake.rings;
      this.#queue = catalog
        .nextWanted(LOOK_AHEAD + this.#inFlight.size)
        .filter((wanted) => !this.#inFlight.has(wanted.versionHash));
    }
    const batch = takeBatch(this.#queue, BATCH_LIMITS);
    return batch.length === 0 ? null : batch;
  }

  #start(batch: readonly WantedBlob[], signal: AbortSignal): void {
    for (const { versionHash } of batch) this.#inFlight.add(versionHash);
    const work = this.#process(batch, signal)
      .catch((error: unknown) => {
        if (signal.aborted) return;
        this.#restUntilMs = this.#modules.nowMs() + REQUEST_RETRY_MS;
        this.#modules.conditions.setError('fetch', error);
      })
      .finally(() => {
        for (const { versionHash } of batch) this.#inFlight.delete(versionHash);
        this.#running.delete(work);
        this.#wake.nudge();
        // Read-back waits for fetching to rest.
        if (this.idle) this.#modules.spooler.news.nudge();
      });
    this.#running.add(work);
  }

  async #process(batch: readonly WantedBlob[], signal: AbortSignal): Promise<void> {
    const toFetch = await this.#withoutLeftOvers(batch, signal);
    const [allowed, outOfRange] = partition(toFetch, (wanted) => isSizeAllowed(wanted.sizeBytes));
    this.#recordFailures(outOfRange.map((wanted) => [wanted, sizeOutOfRange(wanted)] as const));
    if (allowed.length === 0) return;
    const outcomes = await this.#ask(allowed, signal);
    const failures: (readonly [WantedBlob, Error])[] = [];
    const takeOver = async (wanted: WantedBlob, outcome: FetchOutcome | undefined) => {
      const result = await this.#judge(wanted, outcome);
      if (result instanceof Error) failures.push([wanted, result]);
      else await this.#spool(result, wanted, signal);
    };
    const bytes = outcomes.reduce((sum, outcome) => sum + bytesIn(outcome), 0);
    this.#unspooledBytes += bytes;
    try {
      await Promise.all(allowed.map((wanted, index) => takeOver(wanted, outcomes[index])));
    } finally {
      this.#unspooledBytes -= bytes;
      this.#recordFailures(failures);
    }
  }

  async #ask(wanted: readonly WantedBlob[], signal: AbortSignal): Promise<FetchOutcome[]> {
    this.#requestsUnderWay += 1;
    try {
      const outcomes = await this.#modules.node.fetchBlobs(wanted, signal);
      this.#modules.conditions.set('fetch', null);
      return outcomes;
    } finally {
      this.#requestsUnderWay -= 1;
      this.#wake.nudge();
    }
  }

  async #spool(blob: VerifiedBlob, wanted: WantedBlob, signal: AbortSignal): Promise<void> {
    try {
      await this.#modules.spooler.spool(blob, { ...wanted, sizeBytes: blob.bytes.length }, signal);
    } finally {
      forgetBytes(blob);
    }
  }

  /** What a crash left in the store without a row is proven and taken over, not fetched again. */
  async #withoutLeftOvers(batch: readonly WantedBlob[], signal: AbortSignal): Promise<readonly WantedBlob[]> {
    const { leftOver, spooler } = this.#modules;
    if (!batch.some((wanted) => leftOver.mayHave(wanted))) return batch;
    const missing: WantedBlob[] = [];
    for (const wanted of batch) {
      const blob = await leftOver.find(wanted, signal);
      if (blob === null) missing.push(wanted);
      else await spooler.spool(blob, { ...wanted, sizeBytes: blob.bytes.length }, signal);
    }
    return missing;
  }

  async #judge(wanted: WantedBlob, outcome: FetchOutcome | undefined): Promise<VerifiedBlob | Error> {
    if (outcome === undefined) return absentAtNode(wanted);
    switch (outcome.kind) {
      case 'bytes':
        return (await this.#modules.verifier.verify(outcome.blob)) ?? wrongBytes(wanted, outcome.blob);
      case 'absent':
        return absentAtNode(wanted);
      case 'failed':
        return outcome.error;
      default:
        return outcome satisfies never;
    }
  }

  #recordFailures(failures: readonly (readonly [WantedBlob, Error])[]): void {
    if (failures.length === 0) return;
    const { catalog, activity } = this.#modules;
    const records = failures.map(([wanted, error]) => ({
      versionHash: wanted.versionHash,
      code: codeOf(error) ?? 'archive/unexpected',
      message: messageOf(error),
      nextAttemptMs: this.#whenAgain(wanted, error),
    }));
    catalog.recordFailures(records);
    for (const record of records) activity.emit('failed', record);
  }

  #whenAgain(wanted: WantedBlob, error: Error): number {
    const { poller, nowMs } = this.#modules;
    const tip = poller.state.tip;
    const isPast = tip !== null && tip.medianTimeSeconds > wanted.medianTimeSeconds + RETENTION_SECONDS;
    const isGone = error instanceof ArchiveError && error.code === 'archive/absent-at-node';
    if (isPast && isGone && !poller.isListed(wanted.versionHash)) return NEVER_MS;
    return nextAttemptMs(wanted.attempts, nowMs(), Math.random);
  }
}

function bytesIn(outcome: FetchOutcome): number {
  return outcome.kind === 'bytes' ? outcome.blob.bytes.length : 0;
}

function absentAtNode(wanted: WantedBlob): ArchiveError {
  return new ArchiveError(
    'archive/absent-at-node',
    `The node listed ${wanted.versionHash}, but answers it has not got it.`,
    {
      retryable: true,
      hint: 'An unconfirmed blob can be dropped or replaced; otherwise ask another node before the window closes.',
    },
  );
}

function wrongBytes(wanted: WantedBlob, blob: UnverifiedBlob): ArchiveError {
  return new ArchiveError(
    'archive/wrong-bytes',
    `The node gave ${blob.bytes.length} bytes for ${wanted.versionHash} that hash to it neither by keccak256 nor by blake2s256.`,
    { retryable: true, hint: 'Look at the node: its cache or the way to it damages bytes. It is asked again.' },
  );
}

function sizeOutOfRange(wanted: WantedBlob): ArchiveError {
  return new ArchiveError(
    'archive/size-out-of-range',
    `The node lists ${wanted.versionHash} with ${wanted.sizeBytes} bytes; the chain allows 1 to 2,097,152.`,
    { retryable: true, hint: 'Look at the node: what it lists cannot be on the chain. It was not fetched.' },
  );
}

function partition<T>(items: readonly T[], belongs: (item: T) => boolean): [T[], T[]] {
  const yes: T[] = [];
  const no: T[] = [];
  for (const item of items) (belongs(item) ? yes : no).push(item);
  return [yes, no];
}
