import type { VersionHash } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';

/** Which blobs are remembered as failing; of more, only the number would be wrong. */
const MAX_REMEMBERED = 10_000;

/** Keeps somebody told of blobs that do not come as they should, until each came or is given up. */
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

  /** It came, or nothing more can be done. */
  settled(versionHash: VersionHash): void {
    if (!this.#failing.delete(versionHash)) return;
    if (this.#failing.size === 0) this.#conditions.set('blobs', null);
    else this.#tell('each is asked for again');
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
