import type { Catalog } from '../catalog/catalog.ts';
import { RETENTION_SECONDS } from '../core/blob/limits.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Poller } from '../ingest/poller.ts';

/** Percentage of the window after which a blob that is on chain and not durable here is at risk. */
export const FIRST_ALARM_PERCENT = 50;
/** Age in seconds, on the chain's clock, from which a missing blob is at risk. */
const AT_RISK_SECONDS = (RETENTION_SECONDS * FIRST_ALARM_PERCENT) / 100;

/** Reports whether a blob that is on chain since `seconds` and not durable here is at risk. */
export function isAtRisk(seconds: number, nowSeconds: number): boolean {
  return nowSeconds - seconds >= AT_RISK_SECONDS;
}

/** Counts the blobs on chain that are at risk and that the node may still have. */
export function countAtRisk({ losses }: Pick<Catalog, 'losses'>, nowSeconds: number): number {
  return losses.lateness(nowSeconds - RETENTION_SECONDS, nowSeconds - AT_RISK_SECONDS).unspooled;
}

/** Percentages of the window after which a missing blob raises a condition. */
const ALARM_PERCENT = [90, 75, FIRST_ALARM_PERCENT] as const;

/** Raises conditions by the chain's own clock, so that a wrong clock here or at the node cannot hide them. */
export class DeadlineWatch {
  readonly #catalog: Catalog;
  readonly #poller: Poller;
  readonly #conditions: ConditionBoard;
  readonly #silentBlocks: number;

  /** @param silentBlocks blocks without a blob before a condition is raised; 0: never */
  constructor(catalog: Catalog, poller: Poller, conditions: ConditionBoard, silentBlocks: number) {
    this.#silentBlocks = silentBlocks;
    this.#catalog = catalog;
    this.#poller = poller;
    this.#conditions = conditions;
  }

  look(): void {
    const nowSeconds = this.#poller.state.tip?.medianTimeSeconds;
    if (nowSeconds === undefined) return;
    this.#tellUnspooled(nowSeconds);
    this.#tellUnstored(nowSeconds);
    this.#tellSilence();
  }

  #tellUnspooled(nowSeconds: number): void {
    const late = this.#atWorst(nowSeconds, (lateness) => lateness.unspooled);
    this.#conditions.set(
      'chain:late',
      late && {
        code: `chain/at-risk-${late.percent}`,
        message: `${late.count} blobs that are on chain are not here, and ${late.percent} % of the time until the node may prune them is over.`,
        hint: 'See their records for what keeps them. Add another node to HOLDFAST_NODE_URL, or an archive that has them to HOLDFAST_PEERS, or fetch them now: holdfast backfill --source peer=<its address>.',
        blocksReadiness: late.percent >= 90,
      },
    );
  }

  #tellUnstored(nowSeconds: number): void {
    const late = this.#atWorst(nowSeconds, (lateness) => lateness.unstored);
    this.#conditions.set(
      'chain:unstored',
      late && {
        code: `chain/unstored-${late.percent}`,
        message: `${late.count} blobs are durable here, but not proven on enough backends, and ${late.percent} % of their window is over.`,
        hint: 'Look at the backends: until they hold these, the only copy is on this machine.',
        blocksReadiness: false,
      },
    );
  }

  #atWorst(nowSeconds: number, count: (lateness: { unspooled: number; unstored: number }) => number) {
    const oldest = nowSeconds - RETENTION_SECONDS;
    for (const percent of ALARM_PERCENT) {
      const late = count(this.#catalog.losses.lateness(oldest, nowSeconds - (RETENTION_SECONDS * percent) / 100));
      if (late > 0) return { percent, count: late };
    }
    return null;
  }

  #tellSilence(): void {
    const { tip, startHeight } = this.#catalog.chain.state;
    if (tip === null || startHeight === null) return;
    const last = this.#catalog.chain.lastOccurrenceHeight() ?? startHeight;
    const silent = tip.height - last;
    this.#conditions.set(
      'chain:silence',
      this.#silentBlocks === 0 || silent < this.#silentBlocks
        ? null
        : {
            code: 'chain/nothing-new',
            message: `No blob was on chain for ${silent} blocks, since height ${last}.`,
            hint: 'Are rollups still publishing? If so, the node follows another chain than they do.',
            blocksReadiness: false,
          },
    );
  }
}
