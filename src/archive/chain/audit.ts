import { RETENTION_SECONDS } from '../../blob/limits.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { AuditedOccurrence, OccurrenceClass } from '../../catalog/chain-audit.ts';
import type { AbsenceAnswer } from '../../catalog/loss-document.ts';

/** null: from where the walk began, and as high as was walked. History that was walked below counts where it is named. */
export interface AuditRange {
  readonly from: number | null;
  readonly to: number | null;
}

export interface HeightRange {
  readonly from: number;
  readonly to: number;
}

/** An occurrence on chain whose content is not `stored`, and not withheld. */
export interface AuditFinding extends Omit<AuditedOccurrence, 'transactionIndex'> {
  /** Until the node may prune it, on the chain's clock; negative: since. */
  readonly slackSeconds: number | null;
  /** Of what is lost: who answered that it has not got it, and when. */
  readonly answers: readonly AbsenceAnswer[];
}

export interface ChainAuditReport {
  readonly range: HeightRange;
  readonly startHeight: number | null;
  readonly walkedHeight: number | null;
  readonly finalHeight: number | null;
  readonly examinedBlocks: number;
  /** Heights of the range that were not examined: of them nothing is said, least of all that they are complete. */
  readonly unexamined: readonly HeightRange[];
  readonly occurrences: Readonly<Record<OccurrenceClass, number>>;
  readonly unclearTransactions: number;
  /** What is neither `stored` nor withheld, in the order of the chain; `findingCount` of them in all. */
  readonly findings: readonly AuditFinding[];
  readonly findingCount: number;
  /** Every height was examined, and every occurrence on it is stored or withheld. */
  readonly isComplete: boolean;
}

/** Listed in one report; all are counted. */
const MOST_FINDINGS = 10_000;
const PAGE = 500;

/** Compares every occurrence in a range of heights with what is held. Reads the catalog alone, which the walk keeps true. */
export function auditChain(catalog: Catalog, asked: AuditRange, finalHeight: number | null): ChainAuditReport {
  const { startHeight, lowestHeight, tip } = catalog.chain.state;
  const range = { from: asked.from ?? startHeight ?? 0, to: asked.to ?? tip?.height ?? startHeight ?? 0 };
  const tally = catalog.audit.tally(range.from, range.to);
  const { spooled, pending, lost } = tally.occurrences;
  const unexamined = unexaminedIn(range, lowestHeight, tip?.height ?? null);
  const findingCount = spooled + pending + lost;
  return {
    range,
    startHeight,
    walkedHeight: tip?.height ?? null,
    finalHeight,
    examinedBlocks: tally.examinedBlocks,
    unexamined,
    occurrences: tally.occurrences,
    unclearTransactions: tally.unclear,
    findings: findingCount === 0 ? [] : findingsIn(range, catalog),
    findingCount,
    isComplete: findingCount === 0 && unexamined.length === 0,
  };
}

/** What was walked is one stretch: what is below and above it was not. */
function unexaminedIn({ from, to }: HeightRange, lowest: number | null, tip: number | null): HeightRange[] {
  if (to < from) return [];
  if (lowest === null || tip === null || lowest > to || tip < from) return [{ from, to }];
  const below = { from, to: lowest - 1 };
  const above = { from: tip + 1, to };
  return [below, above].filter((part) => part.from <= part.to);
}

function findingsIn({ from, to }: HeightRange, catalog: Catalog): AuditFinding[] {
  const nowSeconds = catalog.chain.state.tip?.medianTimeSeconds ?? null;
  const findings: AuditFinding[] = [];
  let after = { height: from - 1, transactionIndex: Number.MAX_SAFE_INTEGER };
  while (findings.length < MOST_FINDINGS) {
    const page = catalog.audit.notStored(after, to, PAGE);
    const last = page.at(-1);
    if (last === undefined) break;
    after = last;
    for (const { transactionIndex: _, ...occurrence } of page) {
      const slackSeconds = nowSeconds === null ? null : occurrence.medianTimeSeconds + RETENTION_SECONDS - nowSeconds;
      const answers = occurrence.class === 'lost' ? (catalog.losses.find(occurrence)?.answers ?? []) : [];
      findings.push({ ...occurrence, slackSeconds, answers });
    }
  }
  return findings.slice(0, MOST_FINDINGS);
}
