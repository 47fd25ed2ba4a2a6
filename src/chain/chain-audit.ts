import type { Catalog } from '../catalog/catalog.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Clock } from '../core/time/clock.ts';
import type { Poller } from '../ingest/poller.ts';
import type { ChainState } from '../view/chain-state.ts';
import { type AuditRange, auditChain, type ChainAuditReport, type OccurrenceClass } from './audit.ts';

/** Most findings kept in the evidence of an audit; losses have evidence of their own. */
const MAX_FINDINGS_KEPT = 1_000;

/** Runs audits, on request and on schedule. */
export class ChainAudit {
  readonly #catalog: Catalog;
  readonly #poller: { readonly state: Pick<Poller['state'], 'tip'> };
  readonly #chain: Pick<ChainState, 'finalHeight'>;
  readonly #conditions: ConditionBoard;
  readonly #clock: Clock;
  /** Occurrences by class at the last audit; null when this process has run none. */
  tally: Readonly<Record<OccurrenceClass, number>> | null = null;

  constructor(
    catalog: Catalog,
    poller: { readonly state: Pick<Poller['state'], 'tip'> },
    chain: Pick<ChainState, 'finalHeight'>,
    conditions: ConditionBoard,
    clock: Clock,
  ) {
    this.#catalog = catalog;
    this.#poller = poller;
    this.#chain = chain;
    this.#conditions = conditions;
    this.#clock = clock;
  }

  /** Audits every final block from the lowest followed height. The caller schedules it. */
  async run(signal: AbortSignal): Promise<void> {
    const to = this.#chain.finalHeight;
    if (to === null) return;
    const report = await this.audit({ from: null, to }, signal);
    this.tally = report.occurrences;
    this.#tell(report);
  }

  /**
   * Compares again what the last audit found pending, so that its condition ends soon after the blobs are stored. Leaves no
   * evidence.
   */
  async lookAgain(signal: AbortSignal): Promise<void> {
    const to = this.#chain.finalHeight;
    if (to === null || (this.tally?.pending ?? 0) === 0) return;
    const report = await this.compare({ from: null, to }, signal);
    this.tally = report.occurrences;
    this.#tell(report);
  }

  /** Audits a range and records the result as evidence, which goes to every backend. */
  async audit(range: AuditRange, signal: AbortSignal): Promise<ChainAuditReport> {
    const report = await this.compare(range, signal);
    const at = new Date(this.#clock.wallMs()).toISOString();
    const findings = report.findings.slice(0, MAX_FINDINGS_KEPT);
    this.#catalog.evidence.put(`audits/${at.replace(/[-:]/g, '')}.json`, { format: 1, at, ...report, findings });
    return report;
  }

  compare(range: AuditRange, signal: AbortSignal): Promise<ChainAuditReport> {
    const facts = { finalHeight: this.#chain.finalHeight, nodeTip: this.#poller.state.tip };
    return auditChain(this.#catalog, range, facts, signal);
  }

  #tell({ findingCount, occurrences: { pending, lost }, spooled }: ChainAuditReport): void {
    this.#conditions.set(
      'audit',
      findingCount === 0
        ? null
        : {
            code: 'audit/incomplete',
            message: `${pending - spooled} final occurrences are missing here, ${spooled} are not on enough backends, ${lost} are lost.`,
            hint: '`holdfast check --chain` lists them. `holdfast backfill` archives blocks below the start height.',
            blocksReadiness: false,
          },
    );
  }
}
