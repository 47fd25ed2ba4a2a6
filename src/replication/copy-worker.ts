import { setImmediate as letOthersWork } from 'node:timers/promises';
import type { Catalog } from '../catalog/catalog.ts';
import type { CopiedKind } from '../catalog/copy-table.ts';
import { HoldfastError, messageOf } from '../core/blob/errors.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { Notifier } from '../core/notifier.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import { type LoopPolicy, runLoop, type Step } from '../core/time/run-loop.ts';
import { isOfTheStore, StorageError } from '../storage/errors.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { takesAndGives } from '../storage/probe.ts';
import { NotReachedYet } from './backend-handle.ts';
import { isNotKept, notKept } from './copy-fault.ts';

/** A place of copies: the data folder, or a backend with names. */
export type CopyPlace = Pick<ObjectStore, 'id' | 'probe'>;

/** One copy that is not yet what it is to be. */
export interface Move {
  readonly kind: CopiedKind;
  readonly object: number;
  /** The path that messages name. */
  readonly path: string;
}

/**
 * The state of an object at a place that is asked again. `good`: the object is as it is to be, or is gone where it is to be
 * deleted. `not-now`: the move is not due any more.
 */
export type CopyFound = 'good' | 'missing' | 'damaged' | 'not-now';

/**
 * One kind of object: which copies are due, how one is moved, and what is recorded then. A move that is repeated after a
 * crash must be harmless.
 */
export interface CopyKind<P extends CopyPlace, M extends Move> {
  readonly name: 'evidence' | 'records' | 'custom';
  readonly copied: readonly CopiedKind[];
  /** The data folder first. */
  readonly places: readonly P[];
  /** Notifies when there may be more to do. */
  readonly changes: Notifier;
  /** Before anything is brought anywhere. */
  prepare(signal: AbortSignal): Promise<void>;
  /**
   * The moves behind this one, in the order in which they are made; null: from the beginning. A move that rests is not among
   * them, unless a command waits for it (`isAsked`).
   */
  due(place: P, after: M | null, limit: number, isAsked: boolean): readonly M[];
  /**
   * `brought`: the place acknowledged the object, which proves nothing yet. `good`: it was read there just now, and nothing
   * was moved. `not-now`: the move is not due any more, or not yet. An error: the object cannot be made, which is no fault of the place. Throws what the place causes.
   */
  move(move: M, place: P, signal: AbortSignal): Promise<'brought' | 'good' | 'not-now' | Error>;
  /** Asks the place what it has of the object now, and verifies that as the kind says. Throws what the place causes. */
  find(move: M, place: P, signal: AbortSignal): Promise<CopyFound>;
  /** Recorded in one commit. What became another object meanwhile waits on. */
  settle(place: P, done: readonly M[]): void;
  /** All that was due there was tried once. true: there is more now. */
  roundEnded(place: P): boolean;
}

/** Something that the place does not take, give or keep, while it does others. */
interface Refusal<M extends Move> {
  readonly move: M;
  readonly error: HoldfastError;
}

const GROUP = 64;
/** Objects come one after the other, for their order counts; nothing depends on the order in which they are read back. */
const READ_AT_A_TIME = 8;
const RESTING_HINT = 'Each is tried again by itself. Look at that server, its disks and any cache before it.';
/**
 * Objects come one by one, and a round looks through all that wait and tries again what cannot be made. All that come within
 * this time share one round, so that the arrival of many does not cost the square of their number.
 */
const LINGER_MS = 1_000;
/** Until a place that is being let in is asked again. */
const NOT_REACHED_MS = 1_000;

/**
 * Moves the copies of one kind beside the blobs to what they are to be, in rounds: their order counts. Of one name a deletion
 * goes before what is written, and an earlier state before a later one; what cannot be made yet is tried again in the next
 * round. Blobs go through a `Replicator` instead, many at a time: their order proves nothing, and each rests by itself.
 * It works at each place at its own pace: a place that is away holds up no other place, and a refused object no other object.
 * Each refused object rests for itself, and their number is reported. What a place acknowledged is asked for again, and
 * only what it has then counts as done.
 */
export class CopyWorker<P extends CopyPlace, M extends Move> {
  readonly #kind: CopyKind<P, M>;
  readonly #catalog: Catalog;
  readonly #conditions: ConditionBoard;
  /** One round at a time at each place: an older state must not arrive after a later one, nor a record after its deletion. */
  readonly #turns = new Map<string, Promise<unknown>>();
  /** Number of refused objects that was reported last, by place. */
  readonly #told = new Map<string, number>();

  constructor(kind: CopyKind<P, M>, catalog: Catalog, conditions: ConditionBoard) {
    this.#kind = kind;
    this.#catalog = catalog;
    this.#conditions = conditions;
  }

  /** The most that any one place has still to get or to lose. */
  get waiting(): number {
    return Math.max(0, ...this.#kind.places.map((place) => this.#count(place, 'count')));
  }

  async run(signal: AbortSignal): Promise<void> {
    const [first] = this.#kind.places;
    if (first === undefined) return;
    await this.#repeat(first, () => this.#kind.prepare(signal).then(() => 'done'), signal);
    await Promise.all(this.#kind.places.map((place) => this.#serve(place, signal)));
  }

  /** Each place once, with what rests there, for commands that run once. Gives why some have not got all of it. */
  async deliverNow(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const { places } = this.#kind;
    const faults = new Map<string, string>();
    for (const [index, place] of places.entries()) {
      try {
        if (index === 0) await this.#kind.prepare(signal);
        const refused = await this.#inTurn(place, () => this.#moveAll(place, true, signal));
        if (refused !== null) faults.set(place.id, `The ${place.id} store refuses ${refused} and takes others.`);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof StorageError)) throw error;
        faults.set(place.id, messageOf(error));
      }
    }
    return faults;
  }

  #serve(place: P, signal: AbortSignal): Promise<void> {
    const { changes } = this.#kind;
    let seen = changes.notifications;
    const wake = {
      // An object that comes during a round ends the pause after that round early, and never leaves the pause out.
      notifications: 0,
      wait: async (ms: number) => {
        if (changes.notifications === seen) await changes.wait(ms, signal);
        if (changes.notifications !== seen) await new Notifier().wait(LINGER_MS, signal);
      },
    };
    const round = async () => {
      seen = changes.notifications;
      const lookedMs = this.#catalog.nowMs();
      try {
        await this.#inTurn(place, () => this.#moveAll(place, false, signal));
        return this.#catalog.copies.idleMs(this.#kind.copied, place.id, lookedMs);
      } catch (error) {
        // The admission of the backend reports what keeps it out.
        if (error instanceof NotReachedYet) return NOT_REACHED_MS;
        throw error;
      }
    };
    return this.#repeat(place, round, signal, wake);
  }

  /** Reports a failure, and the archive is ready all the same: bytes are archived and served. */
  #repeat({ id }: P, step: Step, signal: AbortSignal, wake: LoopPolicy['wake'] = this.#kind.changes): Promise<void> {
    const subject = `chain:${this.#kind.name}:${id}` as const;
    const tell = (error: unknown) => {
      if (error === null) this.#conditions.set(subject, null);
      else this.#conditions.setErrorBeside(subject, error, `backend:${id}`);
    };
    return runLoop(subject, step, { signal, backoff: BACKOFF.remote, wake, tell });
  }

  #inTurn<T>(place: P, work: () => Promise<T>): Promise<T> {
    // The caller gets the error; the next one has its turn all the same.
    const turn = (this.#turns.get(place.id) ?? Promise.resolve()).then(work);
    this.#turns.set(
      place.id,
      turn.catch(() => {}),
    );
    return turn;
  }

  /** Gives the first object that the place refuses. */
  async #moveAll(place: P, isAsked: boolean, signal: AbortSignal): Promise<string | null> {
    let fault: Error | null = null;
    let refused: string | null = null;
    do {
      for (let after: M | null = null; ; ) {
        signal.throwIfAborted();
        const page: readonly M[] = this.#kind.due(place, after, GROUP, isAsked);
        const last = page.at(-1);
        if (last === undefined) break;
        after = last;
        const found = await this.#movePage(place, page, signal);
        fault = found.fault ?? fault;
        refused ??= found.refused;
        await letOthersWork(undefined, { signal });
      }
    } while (this.#kind.roundEnded(place));
    this.#tellRefused(place, null);
    if (fault !== null) throw fault;
    return refused;
  }

  async #movePage(place: P, page: readonly M[], signal: AbortSignal) {
    const done: M[] = [];
    const refused: Refusal<M>[] = [];
    let fault: Error | null = null;
    const unlessRefused = async (move: M, work: () => Promise<void>) => {
      signal.throwIfAborted();
      try {
        await work();
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof HoldfastError) || !(await isOfOneObject(error, place, signal))) throw error;
        refused.push({ move, error });
      }
    };
    const readBack = (move: M) =>
      unlessRefused(move, async () => {
        const found = await this.#kind.find(move, place, signal);
        if (found === 'good') done.push(move);
        else if (found !== 'not-now') throw notKept(move.path, place.id, found);
      });
    try {
      // A few at a time: what was read back before a fault of the place counts, so that one that fails often gets all of it.
      for (let at = 0; at < page.length; at += READ_AT_A_TIME) {
        const brought: M[] = [];
        for (const move of page.slice(at, at + READ_AT_A_TIME)) {
          await unlessRefused(move, async () => {
            const outcome = await this.#kind.move(move, place, signal);
            if (outcome === 'brought') brought.push(move);
            else if (outcome === 'good') done.push(move);
            else if (outcome !== 'not-now') fault = outcome;
          });
        }
        await allEnded(brought.map(readBack));
      }
    } finally {
      if (done.length > 0) this.#kind.settle(place, done);
      if (refused.length > 0) this.#recordRefused(place, refused);
      this.#tellRefused(place, refused.at(-1)?.error ?? null);
    }
    return { fault, refused: refused[0]?.move.path ?? null };
  }

  #recordRefused(place: P, refused: readonly Refusal<M>[]): void {
    const copies = refused.map(({ move, error }) => ({ ...move, code: error.code, message: error.message }));
    this.#catalog.copies.recordRefused(place.id, copies);
  }

  /** After a start, and when some of them are done: by what the catalog kept of the others. */
  #tellRefused(place: P, latest: HoldfastError | null): void {
    const count = this.#count(place, 'refusedCount');
    const subject = `chain:refused-${this.#kind.name}:${place.id}` as const;
    if (latest === null && count === (this.#told.get(place.id) ?? 0)) return;
    this.#told.set(place.id, count);
    const [kept] = latest === null ? this.#kind.copied.flatMap((kind) => this.#refused(kind, place)) : [];
    const why = latest ?? (kept === undefined ? null : { ...kept, hint: RESTING_HINT });
    this.#conditions.set(subject, why === null ? null : refusing(place, count, why));
  }

  #refused(kind: CopiedKind, { id }: P) {
    return this.#catalog.copies.refused(kind, id, 1);
  }

  #count({ id }: P, which: 'count' | 'refusedCount'): number {
    return this.#kind.copied.reduce((sum, kind) => sum + this.#catalog.copies[which](kind, id), 0);
  }
}

/** Reports whether one object alone is at fault. A place that does not take and give another object is to blame itself. */
export async function isOfOneObject(error: unknown, place: CopyPlace, signal: AbortSignal): Promise<boolean> {
  if (!isNotKept(error) && (!(error instanceof StorageError) || isOfTheStore(error))) return false;
  const findings = await place.probe(signal);
  signal.throwIfAborted();
  return takesAndGives(findings);
}

/** Nothing is recorded while something is under way. Throws the first fault. */
async function allEnded(work: readonly Promise<void>[]): Promise<void> {
  for (const ended of await Promise.allSettled(work)) if (ended.status === 'rejected') throw ended.reason;
}

export function refusing({ id }: CopyPlace, count: number, latest: Pick<HoldfastError, 'code' | 'message' | 'hint'>) {
  const { code, hint } = latest;
  const message = `The ${id} store refuses ${count} records and takes others: they are not written, read or deleted there now. One of them: ${latest.message}`;
  return { code, message, hint, blocksReadiness: false };
}
