import { setImmediate as breathe } from 'node:timers/promises';
import type { Catalog } from '../../catalog/catalog.ts';
import { OCCURRENCE_CLASSES, type OccurrenceClass } from '../../catalog/chain-audit.ts';
import type { ConditionBoard } from '../condition-board.ts';

export interface AuditWatchModules {
  readonly catalog: Catalog;
  readonly conditions: ConditionBoard;
  readonly finalHeight: () => number | null;
}

/** Read in one go: some milliseconds, so that readers and the node's answers do not wait. */
const HEIGHTS = 1_000;

/** Compares everything final with what is held, from where the walk began, a stretch of heights at a time. */
export class AuditWatch {
  readonly #modules: AuditWatchModules;
  /** Occurrences by what became of them, at the last audit; null: there was none in this process. */
  tally: Readonly<Record<OccurrenceClass, number>> | null = null;

  constructor(modules: AuditWatchModules) {
    this.#modules = modules;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { catalog, finalHeight } = this.#modules;
    const { startHeight } = catalog.chain.state;
    const last = finalHeight();
    if (startHeight === null || last === null) return;
    const sum = { stored: 0, spooled: 0, pending: 0, lost: 0, withheld: 0 };
    for (let from = startHeight; from <= last; from += HEIGHTS) {
      signal.throwIfAborted();
      const { occurrences } = catalog.audit.tally(from, Math.min(last, from + HEIGHTS - 1));
      for (const one of OCCURRENCE_CLASSES) sum[one] += occurrences[one];
      await breathe();
    }
    this.tally = sum;
    this.#tell(sum);
  }

  #tell({ pending, spooled, lost }: Readonly<Record<OccurrenceClass, number>>): void {
    this.#modules.conditions.set(
      'audit',
      pending + spooled + lost === 0
        ? null
        : {
            code: 'audit/incomplete',
            message: `Of what is final on chain, ${pending} occurrences are not here, ${spooled} are not on enough backends, ${lost} are lost.`,
            hint: '`holdfast check --chain` lists them. What is below the start height is archived by `holdfast backfill`.',
            blocksReadiness: false,
          },
    );
  }
}
