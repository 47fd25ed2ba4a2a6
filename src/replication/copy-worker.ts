import { setImmediate as letOthersWork } from 'node:timers/promises';
import type { Catalog } from '../catalog/catalog.ts';
import type { CopiedKind } from '../catalog/copy-table.ts';
import { HoldfastError, messageOf } from '../core/blob/errors.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Pulse } from '../core/pulse.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import { runLoop, type Step } from '../core/time/run-loop.ts';
import { isOfTheStore, StorageError } from '../storage/errors.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { takesAndGives } from '../storage/probe.ts';

/** Where copies lie: the data folder, or a backend with names. */
export type CopyPlace = Pick<ObjectStore, 'id' | 'probe'>;

/** One copy that is not yet what it is to be. */
export interface Move {
  readonly kind: CopiedKind;
  readonly object: number;
  /** As it is told. */
  readonly path: string;
}

/**
 * What tells one kind of object from another: which copies are due, how one is moved, and what is recorded then. A move
 * that is repeated after a crash must be harmless.
 */
export interface CopyKind<P extends CopyPlace, M extends Move> {
  readonly name: 'evidence' | 'records' | 'custom';
  readonly copied: readonly CopiedKind[];
  /** The data folder first. */
  readonly places: readonly P[];
  readonly idleMs: number;
  /** Rings when there may be more to do. */
  readonly news: Pulse;
  /** Before anything is brought anywhere. */
  prepare(signal: AbortSignal): Promise<void>;
  /**
   * Those behind this one, in the order in which they are moved; null: from the beginning. What rests is not among them,
   * unless somebody waits for it (`isAsked`).
   */
  due(place: P, after: M | null, limit: number, isAsked: boolean): readonly M[];
  /**
   * `done`: the place has it as it is to be, durably. `not-now`: nobody is to move it any more, or not yet. An error: it
   * cannot be made, which is no fault of the place. Throws what the place causes.
   */
  move(move: M, place: P, signal: AbortSignal): Promise<'done' | 'not-now' | Error>;
  /** Recorded in one commit. What became another object meanwhile waits on. */
  settle(place: P, done: readonly M[]): void;
  /** All that was due there was tried once. true: there is more now. */
  roundEnded(place: P): boolean;
}

interface WorkerModules {
  readonly catalog: Catalog;
  readonly conditions: ConditionBoard;
}

const GROUP = 64;

/**
 * Moves the copies of one kind to what they are to be: at each place at its own pace, so that one that is away holds up no
 * other, and one object that it refuses no other object. Each of these rests for itself, and their number is told.
 */
export class CopyWorker<P extends CopyPlace, M extends Move> {
  readonly #kind: CopyKind<P, M>;
  readonly #modules: WorkerModules;
  /** One round at a time at each place: an older state must not arrive after a later one, nor a record after its deletion. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(kind: CopyKind<P, M>, modules: WorkerModules) {
    this.#kind = kind;
    this.#modules = modules;
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
    const round = async () => {
      await this.#inTurn(place, () => this.#moveAll(place, false, signal));
      return this.#kind.idleMs;
    };
    return this.#repeat(place, round, signal);
  }

  /** What fails is told, and the archive is ready all the same: bytes are archived and served. */
  #repeat({ id }: P, step: Step, signal: AbortSignal): Promise<void> {
    const { conditions } = this.#modules;
    const policy = { signal, backoff: BACKOFF.remote, wake: this.#kind.news, conditions, blocksReadiness: false };
    return runLoop(`chain:${this.#kind.name}:${id}`, step, policy);
  }

  #inTurn<T>(place: P, work: () => Promise<T>): Promise<T> {
    // Whoever asked is told what fails; the next one has its turn all the same.
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
    const refused: M[] = [];
    let fault: Error | null = null;
    let latest: unknown = null;
    try {
      for (const move of page) {
        signal.throwIfAborted();
        try {
          const outcome = await this.#kind.move(move, place, signal);
          if (outcome === 'done') done.push(move);
          else if (outcome !== 'not-now') fault = outcome;
        } catch (error) {
          signal.throwIfAborted();
          if (!(await isOfOneObject(error, place, signal))) throw error;
          refused.push(move);
          latest = error;
        }
      }
    } finally {
      if (done.length > 0) this.#kind.settle(place, done);
      if (refused.length > 0) this.#modules.catalog.copies.recordRefused(place.id, refused);
      this.#tellRefused(place, latest);
    }
    return { fault, refused: refused[0]?.path ?? null };
  }

  #tellRefused(place: P, latest: unknown): void {
    const { conditions } = this.#modules;
    const count = this.#count(place, 'refusedCount');
    const subject = `chain:refused-${this.#kind.name}:${place.id}` as const;
    if (count === 0) conditions.set(subject, null);
    else if (latest instanceof HoldfastError) conditions.set(subject, refusing(place, count, latest));
  }

  #count({ id }: P, which: 'count' | 'refusedCount'): number {
    return this.#kind.copied.reduce((sum, kind) => sum + this.#modules.catalog.copies[which](kind, id), 0);
  }
}

/** Is it the fault of one object alone? A place that does not take and give something else is held for the one to blame. */
export async function isOfOneObject(error: unknown, place: CopyPlace, signal: AbortSignal): Promise<boolean> {
  if (!(error instanceof StorageError) || isOfTheStore(error)) return false;
  const findings = await place.probe(signal);
  signal.throwIfAborted();
  return takesAndGives(findings);
}

export function refusing({ id }: CopyPlace, count: number, latest: HoldfastError) {
  const { code, hint } = latest;
  const message = `The ${id} store refuses ${count} records and takes others: they are not written, read or deleted there now. Latest: ${messageOf(latest)}`;
  return { code, message, hint, blocksReadiness: false };
}
