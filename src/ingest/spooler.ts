import type { Catalog } from '../catalog/catalog.ts';
import type { SpooledContent } from '../catalog/content-table.ts';
import { SPOOL } from '../catalog/placement-table.ts';
import { isForLater } from '../core/archive-errors.ts';
import type { ContentName } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { GroupCommit } from '../core/sqlite/group-commit.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import type { Clock } from '../core/time/clock.ts';
import { retryUntil } from '../core/time/run-loop.ts';
import type { VerifiedBlob } from '../verify/verified-blob.ts';
import type { Activity } from '../view/activity.ts';

const GROUP_LIMIT = 512;

/** The place where a blob becomes durable: this machine, or a backend while the disk is full. */
export interface WritePath {
  /** Gives the id of the place that holds the blob durably now. @throws ArchiveError `isForLater` for what has no place. */
  put(blob: VerifiedBlob, signal: AbortSignal, isUnmined: () => boolean): Promise<string>;
  /**
   * A blob that was put here is one that the catalog held already, or withholds: it may have been evicted or purged
   * meanwhile, or be counted twice.
   */
  enterAgain(name: ContentName, sizeBytes: number): Promise<void>;
  /** A backend has taken the blob: bytes of it that a crash left here are in no books, and go. */
  clearHere(name: ContentName): Promise<void>;
}

/** Makes verified bytes durable first, and only then says so in the catalog. */
export class Spooler {
  readonly #path: WritePath;
  readonly #catalog: Catalog;
  readonly #conditions: ConditionBoard;
  readonly #activity: Activity;
  readonly #commits: GroupCommit<SpooledContent>;
  /** Recorded just now, and held already. */
  readonly #heldAlready = new Set<SpooledContent>();

  constructor(path: WritePath, catalog: Catalog, conditions: ConditionBoard, activity: Activity, clock: Clock) {
    this.#path = path;
    this.#catalog = catalog;
    this.#conditions = conditions;
    this.#activity = activity;
    const record = (contents: readonly SpooledContent[]) => {
      for (const content of catalog.recordSpooled(contents)) this.#heldAlready.add(content);
    };
    this.#commits = new GroupCommit(record, GROUP_LIMIT, clock);
  }

  /**
   * Resolves when the blob is `spooled`. While the disk refuses, it holds the bytes and tries again: they were fetched
   * once, and what waits here keeps further fetches from starting. Rejects only when the signal aborts, and at once for a
   * blob that has no place here while others have one (`isForLater`).
   */
  async spool(blob: VerifiedBlob, seen: Omit<SpooledContent, 'hashType' | 'versionHash'>, signal: AbortSignal) {
    const { hashType, versionHash } = blob;
    // A blob that was only listed when it was asked for may have its block before there is room for it.
    const isUnmined = () =>
      seen.isUnmined === true && (this.#catalog.findQueued(blob.versionHash)?.hashType ?? null) === null;
    const content = { ...seen, hashType, versionHash };
    let where: string | null = null;
    // An eviction that begins before the catalog has it would delete bytes that were acknowledged.
    const arrived = this.#catalog.arriving.begin(blob);
    await this.#retryUntilWritten(async () => {
      // Taken down while it was on its way here, or while it waited for a place.
      if (where === null && this.#catalog.withheld.has(blob)) return;
      // A commit that failed is tried again without writing the bytes again.
      where ??= await this.#path.put(blob, signal, isUnmined);
      if (where === SPOOL) await this.#record(content);
      // There was no room here: a backend took it, and gave it back whole.
      else this.#catalog.replicas.recordFound(where, [content]);
    }, signal).finally(arrived);
    if (where === null) return;
    this.#activity.emit('spooled', { hashType, versionHash, sizeBytes: seen.sizeBytes });
    if (where !== SPOOL) await this.#path.clearHere(content);
  }

  async #record(content: SpooledContent): Promise<void> {
    await this.#commits.add(content);
    if (this.#heldAlready.delete(content)) await this.#path.enterAgain(content, content.sizeBytes);
  }

  /** A blob that has no place here while others have one (`isForLater`) is given up at once: the others must not wait behind it. */
  #retryUntilWritten(write: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const policy = { signal, backoff: BACKOFF.local, isFinal: isForLater, conditions: this.#conditions };
    return retryUntil('store', write, policy);
  }
}
