import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { AuditRange, ChainAuditReport, OccurrenceClass } from './audit.ts';

export interface AuditWatchModules {
  /** Compares what is on chain with what is held, and keeps the evidence of it. */
  readonly audit: (range: AuditRange, signal: AbortSignal) => Promise<ChainAuditReport>;
  readonly conditions: ConditionBoard;
  readonly finalHeight: () => number | null;
}

/** Compares everything final with what is held, from the lowest height that was walked. When, its caller says. */
export class AuditWatch {
  readonly #modules: AuditWatchModules;
  /** Occurrences by what became of them, at the last audit; null: there was none in this process. */
  tally: Readonly<Record<OccurrenceClass, number>> | null = null;

  constructor(modules: AuditWatchModules) {
    this.#modules = modules;
  }

  async run(signal: AbortSignal): Promise<void> {
    const to = this.#modules.finalHeight();
    if (to === null) return;
    const report = await this.#modules.audit({ from: null, to }, signal);
    this.tally = report.occurrences;
    this.#tell(report);
  }

  #tell({ findingCount, occurrences: { pending, lost }, spooled }: ChainAuditReport): void {
    this.#modules.conditions.set(
      'audit',
      findingCount === 0
        ? null
        : {
            code: 'audit/incomplete',
            message: `Of what is final on chain, ${pending - spooled} occurrences are not here, ${spooled} are not on enough backends, ${lost} are lost.`,
            hint: '`holdfast check --chain` lists them. What is below the start height is archived by `holdfast backfill`.',
            blocksReadiness: false,
          },
    );
  }
}
