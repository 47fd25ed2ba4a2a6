import type { Catalog } from '../catalog/catalog.ts';
import type { ChainFollowing } from '../chain/chain-following.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { HeightRange } from '../core/height-range.ts';
import type { Clock } from '../core/time/clock.ts';
import type { BackfillEvent } from './backfill-report.ts';
import { MissingInRange } from './missing-in-range.ts';
import type { BackfillParameters } from './parameters.ts';
import { untilPlaced } from './until-placed.ts';
import { walkRange } from './walk-range.ts';

/** The part of the archive in a backfill: it walks the chain in a range, and places what came. */
export class RangeInArchive {
  readonly #catalog: Catalog;
  readonly #chain: ChainFollowing;
  readonly #replication: { admit(signal: AbortSignal): Promise<unknown> };
  readonly #evidence: { deliverNow(signal: AbortSignal): Promise<unknown>; readonly waiting: number };
  readonly #conditions: ConditionBoard;
  readonly #clock: Clock;

  /** @param evidence records of losses, which reach every backend before a run ends */
  constructor(
    catalog: Catalog,
    chain: ChainFollowing,
    replication: { admit(signal: AbortSignal): Promise<unknown> },
    evidence: { deliverNow(signal: AbortSignal): Promise<unknown>; readonly waiting: number },
    conditions: ConditionBoard,
    clock: Clock,
  ) {
    this.#catalog = catalog;
    this.#chain = chain;
    this.#replication = replication;
    this.#evidence = evidence;
    this.#conditions = conditions;
    this.#clock = clock;
  }

  /** Rejects when the range cannot be walked. @throws ArchiveError, ChainError */
  walk(
    parameters: BackfillParameters,
    report: (event: BackfillEvent) => void,
    signal: AbortSignal,
  ): Promise<HeightRange> {
    return walkRange(parameters, this.#catalog, this.#chain, this.#conditions, report, this.#clock, signal);
  }

  missing(range: HeightRange): MissingInRange {
    return new MissingInRange(range, this.#catalog);
  }

  /** The chain is known by now: backends are let in, and searched before any source is asked. */
  async admitBackends(signal: AbortSignal): Promise<void> {
    await this.#replication.admit(signal);
  }

  /** Waits until all is placed, or nothing moves any more. Gives what is left; of documents, the most that one place lacks. */
  async untilPlaced(range: HeightRange, report: (event: BackfillEvent) => void, signal: AbortSignal) {
    const placed = await untilPlaced(range, this.#catalog, this.#chain, report, this.#clock, signal);
    // A command that runs once has no later.
    await this.#evidence.deliverNow(signal);
    return { ...placed, evidenceWaiting: this.#evidence.waiting };
  }
}
