import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import type { QueuedCopy } from '../catalog/replica-ledger.ts';
import { codeOf, HoldfastError, messageOf } from '../core/blob/errors.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { Notifier } from '../core/notifier.ts';
import { GroupCommit } from '../core/sqlite/group-commit.ts';
import { BACKOFF, backoffMs } from '../core/time/backoff.ts';
import type { Clock } from '../core/time/clock.ts';
import { LONGEST_SLEEP_MS, runLoop } from '../core/time/run-loop.ts';
import { isOfTheStore, StorageError } from '../storage/errors.ts';
import { forgetBytes, type VerifiedBlob } from '../verify/verified-blob.ts';
import { raise } from './admission.ts';
import type { BackendHandle, CopyFinding } from './backend-handle.ts';
import { Bandwidth } from './bandwidth.ts';
import type { Copies } from './copies.ts';
import { isOtherBytes, noSource, notKept } from './copy-fault.ts';
import type { DamageWatch, ReadCopy } from './damage-watch.ts';
import { FailingCopies } from './failing-copies.ts';
import { tellOfMove } from './moved-backend.ts';

export interface ReplicatorOptions {
  /** Blobs under way at a time. */
  readonly requests: number;
  readonly bytesPerSecond: number | null;
}

export interface ReplicatorModules {
  readonly site: BackendHandle;
  readonly copies: Copies;
  readonly catalog: Catalog;
  readonly damage: DamageWatch;
  readonly conditions: ConditionBoard;
  readonly clock: Clock;
}

/** Pause while another request tries whether the backend is back. */
const TRIED_MS = 500;
/** Longest wait for the next damaged copy to be repaired, beside everything else that goes there. */
const PATIENCE_MS = 30_000;
const LOOK_AHEAD = 256;
/** Bytes under way to one backend; the largest blob always may go alone. */
const MAX_BYTES_UNDER_WAY = 33_554_432;
const GROUP_LIMIT = 256;
/** Copies on their way share a commit: a synced commit holds up everything else here, and no caller waits for a record. */
const LINGER_MS = 250;
/** Beside new copies, those that failed before take at most this share of the requests: what fails again holds up nothing else. */
const FAILED_SHARE = 0.125;
/** After this many copies without a source, failed ones keep to their share, also where no new ones come. */
const WITHOUT_SOURCE = 64;
/** A backend that takes a probe and no blob is asked more and more slowly, down to one blob a second. */
const SLOW_DOWN = { after: 64, stepMs: 10, maxMs: 1_000 } as const;
const LOOK_FOR_GONE_MS = 10_000;

/**
 * Brings to one backend what it is to hold: put, fetched back by a question of its own, hashed again, and only then
 * recorded as good. It waits for its own backend alone, and nothing waits for it.
 */
export class Replicator {
  readonly #options: ReplicatorOptions;
  readonly #modules: ReplicatorModules;
  readonly #bandwidth: Bandwidth;
  readonly #commits: GroupCommit<ReadCopy<ContentEntry>>;
  readonly #underWay = new Set<number>();
  readonly #running = new Set<Promise<void>>();
  /** Requests to the backend: what only waits for its commit is not one any more. */
  #requestsUnderWay = 0;
  #bytesUnderWay = 0;
  #recordedMs = Number.NEGATIVE_INFINITY;
  /** The next copies to be tried, of both parts of the queue. */
  #queue: QueuedCopy[] = [];
  #failedQueue: QueuedCopy[] = [];
  #failedUnderWay = 0;
  #failuresInARow = 0;
  /** Copies that had no source since one that failed before had a source again. */
  #withoutSource = 0;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  readonly #failing: FailingCopies;
  #lookedForGoneMs = Number.NEGATIVE_INFINITY;
  /** Notifies when there is more to bring, when the backend may be used, and when something here has ended. */
  readonly #changes: Notifier;

  constructor(options: ReplicatorOptions, modules: ReplicatorModules) {
    this.#options = options;
    this.#modules = modules;
    this.#changes = Notifier.following(modules.catalog.replicas.changes(modules.site.id), modules.site.changes);
    this.#bandwidth = new Bandwidth(options.bytesPerSecond, modules.clock);
    this.#failing = new FailingCopies(modules.site.id, modules.catalog, modules.conditions);
    this.#commits = new GroupCommit((proofs) => this.#record(proofs), GROUP_LIMIT, modules.clock, LINGER_MS);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { catalog, conditions, site } = this.#modules;
    const subject = `backend:${site.id}` as const;
    // The backend is healthy when a blob was read back from it, not when there was nothing to start.
    const tell = (error: unknown) => {
      if (error !== null) conditions.setError(subject, error);
    };
    const moved = catalog.moved.filter(({ backend }) => backend === site.id);
    await Promise.all([
      runLoop(subject, () => this.#startAll(signal), { signal, backoff: BACKOFF.local, wake: this.#changes, tell }),
      ...moved.map((move) => tellOfMove(move, catalog, conditions, signal)),
    ]);
    await Promise.all(this.#running);
  }

  /** Gives how long nothing more can be started, unless something ends or comes. */
  #startAll(signal: AbortSignal): number {
    const before = this.#now();
    for (let next = this.#next(); next !== null; next = this.#next()) this.#start(next, signal);
    return this.#idleMs(before);
  }

  get id(): string {
    return this.#modules.site.id;
  }

  /** Works until nothing is left that may be tried now; `damagedOnly`: until nothing damaged is, or it gets no less. */
  async drain(signal: AbortSignal, damagedOnly = false): Promise<void> {
    const { catalog, site, clock } = this.#modules;
    let least = Number.POSITIVE_INFINITY;
    let sinceMs = clock.steadyMs();
    for (;;) {
      signal.throwIfAborted();
      const damaged = damagedOnly ? catalog.replicas.damagedCount(site.id) : least;
      if (damagedOnly && damaged < least) sinceMs = clock.steadyMs();
      least = Math.min(least, damaged);
      if (damagedOnly && (damaged === 0 || clock.steadyMs() - sinceMs > PATIENCE_MS)) return;
      const before = this.#now();
      const next = this.#next();
      if (next !== null) this.#start(next, signal);
      else if (this.#running.size === 0) return;
      else await this.#changes.wait(Math.min(this.#idleMs(before), PATIENCE_MS), signal);
    }
  }

  #next(): QueuedCopy | null {
    const { site, clock } = this.#modules;
    if (!site.isAdmitted || this.#requestsUnderWay >= this.#options.requests) return null;
    if (this.#bytesUnderWay >= MAX_BYTES_UNDER_WAY || site.isLeftAlone || clock.steadyMs() < this.#pausedUntilMs)
      return null;
    const queue = this.#nextQueue();
    if (queue === null || !site.mayBeAsked()) return null;
    return queue.shift() ?? null;
  }

  /** The part of the queue whose turn it is; null: nothing is due. */
  #nextQueue(): QueuedCopy[] | null {
    const { site, catalog, clock } = this.#modules;
    const { requests } = this.#options;
    const isNotUnderWay = ({ sequence }: QueuedCopy) => !this.#underWay.has(sequence);
    const mayTryAgain = this.#failedUnderWay < Math.max(1, Math.floor(requests * FAILED_SHARE));
    if (mayTryAgain && this.#hasFailed()) return this.#failedQueue;
    if (this.#queue.length === 0) {
      this.#queue = catalog.replicas.due(site.id, LOOK_AHEAD + this.#underWay.size).filter(isNotUnderWay);
    }
    if (this.#queue.length > 0) return this.#queue;
    // One request stays free for a copy that comes meanwhile.
    const mayTryMore = this.#withoutSource < WITHOUT_SOURCE && this.#failedUnderWay < requests - 1;
    if (!mayTryAgain && mayTryMore && this.#hasFailed()) return this.#failedQueue;
    if (clock.steadyMs() - this.#lookedForGoneMs >= LOOK_FOR_GONE_MS) {
      this.#lookedForGoneMs = clock.steadyMs();
      this.#failing.forgetGone();
    }
    return null;
  }

  /** Reports whether a copy that failed before is due. */
  #hasFailed(): boolean {
    const { site, catalog } = this.#modules;
    if (this.#failedQueue.length === 0) {
      this.#failedQueue = catalog.replicas
        .dueAgain(site.id, LOOK_AHEAD + this.#underWay.size)
        .filter(({ sequence }) => !this.#underWay.has(sequence));
    }
    return this.#failedQueue.length > 0;
  }

  #now(): { readonly wallMs: number; readonly steadyMs: number } {
    return { wallMs: this.#modules.catalog.nowMs(), steadyMs: this.#modules.clock.steadyMs() };
  }

  /**
   * While the backend is left alone: until its next try. Else until something is due there. It goes by the times before it was
   * looked what may be started: what became so since is not slept over.
   */
  #idleMs(before: { readonly wallMs: number; readonly steadyMs: number }): number {
    const { site, catalog } = this.#modules;
    if (!site.isAdmitted) return LONGEST_SLEEP_MS;
    const leftMs = Math.max(site.breaker.openUntilMs, this.#pausedUntilMs) - before.steadyMs;
    if (leftMs > 0) return Math.min(leftMs, LONGEST_SLEEP_MS);
    if (site.isLeftAlone) return TRIED_MS;
    const dueMs = catalog.replicas.idleMs(site.id, before.wallMs);
    return this.#failing.isEmpty ? dueMs : Math.min(dueMs, LOOK_FOR_GONE_MS);
  }

  #start(queued: QueuedCopy, signal: AbortSignal): void {
    const { sequence, entry, attempts } = queued;
    const { site, conditions, clock } = this.#modules;
    const { reports } = this.#modules.damage;
    this.#underWay.add(sequence);
    const work = this.#ask(queued, signal)
      .then(
        async (isThere) => {
          this.#failuresInARow = 0;
          if (attempts > 0) this.#withoutSource = 0;
          if (isThere) await this.#prove({ entry, reports });
          this.#failing.succeeded(sequence);
        },
        (error: unknown) => {
          if (!signal.aborted) this.#failed(queued, error);
        },
      )
      // The catalog takes no record now. That is no fault of the blob, and all others have it as well.
      .catch((fault: unknown) => {
        conditions.setError(`backend:${site.id}`, fault);
        this.#pausedUntilMs = clock.steadyMs() + backoffMs(BACKOFF.local, 1);
      })
      .finally(() => {
        this.#underWay.delete(sequence);
        this.#running.delete(work);
        this.#changes.notify();
      });
    if (attempts > 0) this.#failedUnderWay += 1;
    this.#running.add(work);
  }

  async #ask(queued: QueuedCopy, signal: AbortSignal): Promise<boolean> {
    const { site } = this.#modules;
    const { attempts } = queued;
    const { sizeBytes } = queued.entry;
    const { questions } = site;
    this.#requestsUnderWay += 1;
    this.#bytesUnderWay += sizeBytes;
    try {
      return await this.#replicate(queued, signal);
    } finally {
      // The one try after a pause is still to be made: without this no request would ever make it.
      if (site.questions === questions) site.breaker.notTried();
      if (attempts > 0) this.#failedUnderWay -= 1;
      this.#requestsUnderWay -= 1;
      this.#bytesUnderWay -= sizeBytes;
      this.#changes.notify();
    }
  }

  /** Resolves to true when the backend is proven to hold the blob; false: it was taken down, and nothing is there by right. */
  async #replicate({ entry, state, attempts }: QueuedCopy, signal: AbortSignal): Promise<boolean> {
    const { site, catalog } = this.#modules;
    const { store } = site;
    // A copy that was called damaged is read again on a fresh connection, before anything is replaced.
    if (state === 'damaged' && (await this.#isThere(await site.examineAfresh(entry, signal), signal))) return true;
    const { blob, faults } = await this.#source(entry, signal);
    if (blob === null) {
      // No other place has it, and this one was not asked: it may be here under an address that was another before.
      if (state === 'wanted' && (await this.#isThere(await site.read(entry, signal), signal))) return true;
      throw noSource(entry, site.id, faults);
    }
    await this.#bandwidth.take(entry.sizeBytes, signal);
    // Taken down since it was queued: nothing is recorded of it either.
    if (catalog.withheld.has(entry)) return false;
    // A blob that is not known to be there is not replaced; if other bytes are there, the read-back says so.
    const mode = state === 'damaged' ? 'replace' : 'create';
    await site.judged(() => store.put(blob, mode, signal), signal);
    // The bytes are kept after a failure: a request that was given up may still be sending them.
    forgetBytes(blob);
    // Purged while these bytes were on their way: the purge came before they did.
    if (catalog.withheld.isToBePurged(entry)) {
      await site.judged(() => store.purge(entry, signal), signal);
      return false;
    }
    await this.#readBack(entry, attempts, signal);
    return true;
  }

  /** Reports whether the copy there is good and kept. A good copy that is not kept (a block without its pin) is put again. */
  async #isThere(finding: CopyFinding, signal: AbortSignal): Promise<boolean> {
    const { site } = this.#modules;
    if (finding.kind !== 'good') return false;
    const { blob } = finding;
    if (!(await site.isKept(blob, signal))) {
      await site.judged(() => site.store.put(blob, 'replace', signal), signal);
      if (!(await site.isKept(blob, signal))) return false;
    }
    forgetBytes(blob);
    return true;
  }

  /** `faults`: how many places could not say whether they have it. */
  async #source(entry: ContentEntry, signal: AbortSignal): Promise<{ blob: VerifiedBlob | null; faults: number }> {
    const { copies, site, damage } = this.#modules;
    const { found, faults } = await damage.searched(entry, () => copies.find(entry, signal, site.id));
    return { blob: found?.blob ?? null, faults: faults.length };
  }

  /** Reads the copy back. After a failure it is examined: the backend may be unable to read the copy that it has. */
  async #readBack(entry: ContentEntry, attempts: number, signal: AbortSignal): Promise<void> {
    const { site } = this.#modules;
    const read = async () => {
      const finding = attempts === 0 ? await site.read(entry, signal) : await site.examine(entry, signal);
      if (finding.kind === 'good') forgetBytes(finding.blob);
      return finding.kind;
    };
    // Both at a time: a Kubo says what it has pinned only after the pins of others, while it gives bytes at once.
    const [found, isKept] = await Promise.all([read(), site.isKept(entry, signal)]);
    if (found !== 'good') throw notKept(entry.versionHash, site.id, found);
    if (!isKept) throw notKept(entry.versionHash, site.id, 'unpinned');
  }

  /** Resolves when it is recorded: at once, where nothing else comes that could share the commit. */
  #prove(proof: ReadCopy<ContentEntry>): Promise<void> {
    const isRecorded = this.#commits.add(proof);
    const isLast = this.#requestsUnderWay === 0 && this.#queue.length === 0;
    if (isLast && this.#modules.clock.steadyMs() - this.#recordedMs >= LINGER_MS) this.#commits.flush();
    return isRecorded;
  }

  #record(proofs: readonly ReadCopy<ContentEntry>[]): void {
    const { site, damage, conditions, clock } = this.#modules;
    this.#recordedMs = clock.steadyMs();
    // Found to be the place of another backend meanwhile: its copies do not count.
    if (!site.isAdmitted) return;
    // A check may have found a copy damaged while it waited here.
    if (damage.recordProven(site.id, proofs) > 0) conditions.set(`backend:${site.id}`, null);
  }

  #failed({ entry, sequence, attempts, state }: QueuedCopy, error: unknown): void {
    const { catalog, site, copies, damage, clock } = this.#modules;
    // A copy without a source holds up no other one, whose source may be this disk alone.
    if (codeOf(error) === 'archive/no-good-copy') this.#withoutSource += 1;
    else this.#tell(sequence, entry, error);
    // A copy that was found damaged just now is repaired in the same run: a check that repairs ends with it whole.
    const isNewlyDamaged = state !== 'damaged' && isOtherBytes(error);
    const pauseMs = isNewlyDamaged ? 0 : backoffMs(BACKOFF.copy, attempts + 1);
    // From now on it is what every damaged copy is: read on a fresh connection and set aside before it is replaced.
    if (isOtherBytes(error)) {
      damage.report(site.id, entry);
      copies.doubt(entry);
    }
    catalog.replicas.recordFailures(site.id, [
      {
        sequence,
        code: codeOf(error) ?? 'archive/unexpected',
        message: messageOf(error),
        nextAttemptMs: clock.wallMs() + pauseMs,
      },
    ]);
  }

  /** Reports the fault of one blob as that blob's alone: the backend is in use, and the other blobs go there. */
  #tell(sequence: number, entry: ContentEntry, error: unknown): void {
    const { site, conditions, clock } = this.#modules;
    this.#failuresInARow += 1;
    const { after, stepMs, maxMs } = SLOW_DOWN;
    if (this.#failuresInARow >= after) {
      this.#pausedUntilMs = clock.steadyMs() + Math.min(maxMs, stepMs * (this.#failuresInARow - after + 1));
    }
    const isOfStore = error instanceof StorageError ? isOfTheStore(error) : !(error instanceof HoldfastError);
    if (isOfStore || site.isLeftAlone) raise(conditions, site.id, error);
    else this.#failing.failed(sequence, entry, error);
  }
}
