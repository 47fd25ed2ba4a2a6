import type { Catalog } from '../catalog/catalog.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Clock } from '../core/time/clock.ts';
import type { BackendHandle } from '../replication/backend-handle.ts';
import type { Activity } from '../view/activity.ts';

/** A block may be two hours ahead of its time by the rules, and miners are never so far behind when they find one. */
const MAX_BLOCK_SECONDS = 2 * 3_600 + 600;
/** S3 refuses what is signed a quarter of an hour off; below this nothing here minds. */
const MAX_SERVER_SECONDS = 120;
/** Blocks in a row: one alone may have a strange time. */
const BLOCKS_IN_A_ROW = 3;

/**
 * Compares this machine's clock with new blocks and with the `Date` of S3 answers. Deadlines follow the chain's clock
 * and stay right all the same; signatures, schedules and times in records do not.
 */
export class ClockWatch {
  readonly #catalog: Catalog;
  readonly #sites: readonly BackendHandle[];
  readonly #conditions: ConditionBoard;
  readonly #clock: Clock;
  #blockOffsetSeconds: number | null = null;
  #wrongInARow = 0;
  #tips = 0;
  #lastSeenHeight: number | null = null;

  constructor(
    catalog: Catalog,
    sites: readonly BackendHandle[],
    conditions: ConditionBoard,
    activity: Activity,
    clock: Clock,
  ) {
    this.#catalog = catalog;
    this.#sites = sites;
    this.#conditions = conditions;
    this.#clock = clock;
    // The first tip may be of any age, and so may what a node that catches up shows.
    activity.on('tip', ({ syncing }) => {
      this.#tips = syncing ? 0 : this.#tips + 1;
    });
    activity.on('walked', () => this.#look());
  }

  /** Time of the newest block that was found while we looked on, minus ours; null: there was none. */
  get blockOffsetSeconds(): number | null {
    return this.#blockOffsetSeconds;
  }

  #look(): void {
    const { tip } = this.#catalog.chain.state;
    if (tip === null || this.#tips < 2) return;
    // Only the last of several blocks that came at once is new for certain.
    const isNext = this.#lastSeenHeight !== null && tip.height === this.#lastSeenHeight + 1;
    this.#lastSeenHeight = tip.height;
    if (!isNext) return;
    this.#blockOffsetSeconds = tip.timeSeconds - this.#clock.wallMs() / 1_000;
    this.#wrongInARow = Math.abs(this.#blockOffsetSeconds) > MAX_BLOCK_SECONDS ? this.#wrongInARow + 1 : 0;
    this.#tell();
  }

  #tell(): void {
    const wrong = this.#wrongest();
    this.#conditions.set(
      'clock',
      wrong && {
        code: 'clock/wrong',
        message: `The clock of this machine is ${said(wrong.offsetSeconds)} ${wrong.whose}.`,
        hint: 'Set it, and let it be kept right (chrony, systemd-timesyncd). Deadlines follow the chain and are not touched by it.',
        blocksReadiness: false,
      },
    );
  }

  #wrongest(): { offsetSeconds: number; whose: string } | null {
    if (this.#wrongInARow >= BLOCKS_IN_A_ROW && this.#blockOffsetSeconds !== null) {
      return { offsetSeconds: this.#blockOffsetSeconds, whose: 'blocks that were found just now' };
    }
    for (const { id, store } of this.#sites) {
      const offsetSeconds = (store.clockOffsetMs ?? 0) / 1_000;
      if (Math.abs(offsetSeconds) > MAX_SERVER_SECONDS) return { offsetSeconds, whose: `that of the ${id} store` };
    }
    return null;
  }
}

function said(theirsMinusOurs: number): string {
  const minutes = Math.round(Math.abs(theirsMinusOurs) / 60);
  return `${minutes} minutes ${theirsMinusOurs > 0 ? 'behind' : 'ahead of'}`;
}
