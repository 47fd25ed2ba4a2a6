import type { VersionHash } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';

/** Blobs that are remembered as failing; beyond this, only their number would be wrong. */
const MAX_REMEMBERED = 10_000;

/** Reports blobs that cannot be fetched, until each one arrives or is given up. */
export class FailureWatch {
  readonly #conditions: ConditionBoard;
  readonly #failing = new Set<VersionHash>();

  constructor(conditions: ConditionBoard) {
    this.#conditions = conditions;
  }

  failed(versionHash: VersionHash, reason: string): void {
    if (this.#failing.size < MAX_REMEMBERED) this.#failing.add(versionHash);
    this.#tell(`the last one, ${versionHash}: ${reason}`);
  }

  /** The blob arrived, or no further attempt can help. */
  settled(versionHash: VersionHash): void {
    if (!this.#failing.delete(versionHash)) return;
    if (this.#failing.size === 0) this.#conditions.set('blobs', null);
    else this.#tell('each is asked for again');
  }

  /** Settles what no longer waits. */
  settleUnless(isWaiting: (versionHash: VersionHash) => boolean): void {
    for (const versionHash of this.#failing) if (!isWaiting(versionHash)) this.settled(versionHash);
  }

  #tell(more: string): void {
    this.#conditions.set('blobs', {
      code: 'archive/blobs-failing',
      message: `${this.#failing.size} of the blobs that are listed or on chain could not be taken over; ${more}`,
      hint: 'The others go on, and these are asked for again until their deadline. Look at the node, and at each blob’s record.',
      blocksReadiness: false,
    });
  }
}
