import type { Catalog } from '../catalog/catalog.ts';
import { RETENTION_SECONDS } from '../core/blob/limits.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { ChainTip } from '../node/blob-node.ts';

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
  return losses.unspooled(nowSeconds - RETENTION_SECONDS, nowSeconds - AT_RISK_SECONDS);
}

/** Percentages of the window after which a missing blob raises a condition. */
const ALARM_PERCENT = [90, 75, FIRST_ALARM_PERCENT] as const;
/** Up to here unstored blobs are counted: a change of the required replicas can unstore a million. */
const MAX_COUNTED = 10_000;

/** The node's newest block, whose clock tells what is late. */
interface TipSource {
  readonly state: { readonly tip: Pick<ChainTip, 'medianTimeSeconds'> | null };
}

/** Raises conditions by the chain's own clock, so that a wrong clock here or at the node cannot hide them. */
export class DeadlineWatch {
  readonly #catalog: Catalog;
  readonly #poller: TipSource;
  readonly #conditions: ConditionBoard;
  readonly #silentBlocks: number;

  /** @param silentBlocks blocks without a blob before a condition is raised; 0: never */
  constructor(catalog: Catalog, poller: TipSource, conditions: ConditionBoard, silentBlocks: number) {
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
    const { losses } = this.#catalog;
    const late = atWorst(nowSeconds, (until) => losses.unspooled(nowSeconds - RETENTION_SECONDS, until));
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
    const late = atWorst(nowSeconds, (until) => this.#catalog.losses.unstored(until, MAX_COUNTED));
    this.#conditions.set(
      'chain:unstored',
      late && {
        code: `chain/unstored-${late.percent}`,
        message: `${late.count.toLocaleString('en')}${late.count < MAX_COUNTED ? '' : ' or more'} blobs are durable here, but not proven on enough backends, and ${late.percent} % of their window is over.`,
        hint: 'Look at the backends: until they hold these, the only copy is on this machine.',
        blocksReadiness: false,
      },
    );
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

/** The highest percentage of the window by which some blob is late, and the number of such blobs. */
function atWorst(nowSeconds: number, countUntil: (seconds: number) => number) {
  for (const percent of ALARM_PERCENT) {
    const count = countUntil(nowSeconds - (RETENTION_SECONDS * percent) / 100);
    if (count > 0) return { percent, count };
  }
  return null;
}
