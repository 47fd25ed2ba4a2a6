import { setImmediate as letOthersWork } from 'node:timers/promises';
import type {
  AuditedBranch,
  AuditSnapshot,
  HeldTally,
  SetAsideClass,
  UnstoredOccurrence,
} from '../catalog/audit-snapshot.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { AbsenceAnswer } from '../catalog/loss-document.ts';
import { RETENTION_SECONDS } from '../core/blob/limits.ts';
import { assertUpright, type HeightRange } from '../core/height-range.ts';

/** null: from the lowest height that was walked, history included, and as high as the node is, as far as that is known. */
export interface AuditRange {
  readonly from: number | null;
  readonly to: number | null;
}

/**
 * `stored`; `pending`: on chain, and not yet; `custom`: bytes that match neither hash, kept apart; `withheld`: taken down
 * by the operator, whatever is held of it; `lost`: everybody answered that they have not got it.
 */
export const OCCURRENCE_CLASSES = ['stored', 'pending', 'custom', 'withheld', 'lost'] as const;
export type OccurrenceClass = (typeof OCCURRENCE_CLASSES)[number];

/** An occurrence on chain that is pending or lost. */
export interface AuditFinding extends Omit<UnstoredOccurrence, 'transactionIndex' | 'held'> {
  readonly class: 'pending' | 'lost';
  /** Durable here, and not yet on as many backends as are required. */
  readonly isSpooled: boolean;
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
  /** Of those pending: durable here. */
  readonly spooled: number;
  readonly unclearTransactions: number;
  /** What is pending or lost, in the order of the chain; `findingCount` of them in all. */
  readonly findings: readonly AuditFinding[];
  readonly findingCount: number;
  /** Every height was examined, and nothing on it is pending or lost. */
  readonly isComplete: boolean;
  /** Something is lost, or is not here though its window is over; what is pending within it is not missing yet. */
  readonly isMissing: boolean;
}

/** What the catalog does not know by itself. */
export interface AuditFacts {
  readonly finalHeight: number | null;
  /** The tip of the node, which the walk may not have come to; null: not known. */
  readonly nodeTip: { readonly height: number; readonly medianTimeSeconds: number } | null;
}

/** What is counted apart from what is held. */
const SET_ASIDE_CLASSES = ['withheld', 'custom'] as const satisfies readonly SetAsideClass[];
/** Listed in one report; all are counted. */
const MOST_FINDINGS = 10_000;
/** So far behind the node the walk may be and is current all the same. */
const MOST_BEHIND = 2;

/**
 * Compares every occurrence in a range of heights with what is held, at one moment, which the walk keeps true; in steps
 * of some milliseconds, between which everything else goes on. Rejects with the signal's reason when it aborts.
 * @throws ArchiveError `archive/bad-range`
 */
export async function auditChain(
  catalog: Catalog,
  asked: AuditRange,
  { finalHeight, nodeTip }: AuditFacts,
  signal: AbortSignal,
): Promise<ChainAuditReport> {
  assertUpright(asked.from, asked.to);
  const snapshot = catalog.snapshot();
  try {
    const branch = snapshot.branch();
    const { startHeight, tipHeight } = branch;
    const range = rangeOf(asked, branch, nodeTip);
    const { occurrences, spooled } = await classesIn(range, snapshot, signal);
    const findingCount = occurrences.pending + occurrences.lost;
    const unexamined = unexaminedIn(range, branch);
    const nowSeconds = chainsClock(branch, nodeTip);
    const { findings, isOverdue } = await findingsIn(snapshot, range, findingCount, catalog, nowSeconds, signal);
    return {
      range,
      startHeight,
      walkedHeight: tipHeight,
      finalHeight,
      examinedBlocks: snapshot.blocks(range.from, range.to),
      unexamined,
      occurrences,
      spooled,
      unclearTransactions: snapshot.unclear(range.from, range.to),
      findings,
      findingCount,
      isComplete: findingCount === 0 && unexamined.length === 0,
      isMissing: occurrences.lost > 0 || isOverdue,
    };
  } finally {
    snapshot.close();
  }
}

/** An end that is not named never lies on the wrong side of one that is: nothing would be complete in between. */
function rangeOf(asked: AuditRange, branch: AuditedBranch, nodeTip: AuditFacts['nodeTip']): HeightRange {
  // What history below the start was walked is known as well as the rest: a verdict without it would be none.
  const start = Math.min(branch.startHeight ?? 0, branch.lowestHeight ?? Number.POSITIVE_INFINITY);
  const from = asked.from ?? Math.min(start, asked.to ?? start);
  return { from, to: asked.to ?? Math.max(topOf(branch, nodeTip) ?? start, from) };
}

/** Heights that the walk has not come to, and should have, are of the range too: nobody knows what is on them. */
function topOf({ tipHeight }: AuditedBranch, nodeTip: AuditFacts['nodeTip']): number | null {
  if (nodeTip === null || tipHeight === null) return tipHeight;
  return nodeTip.height - tipHeight > MOST_BEHIND ? nodeTip.height : tipHeight;
}

/** While the walk stands still, deadlines come nearer all the same. */
function chainsClock({ tipMedianSeconds }: AuditedBranch, nodeTip: AuditFacts['nodeTip']): number | null {
  if (tipMedianSeconds === null || nodeTip === null) return tipMedianSeconds;
  return Math.max(tipMedianSeconds, nodeTip.medianTimeSeconds);
}

async function classesIn({ from, to }: HeightRange, snapshot: AuditSnapshot, signal: AbortSignal) {
  let held: HeldTally = { stored: 0, spooled: 0, seen: 0, lost: 0 };
  for (const step of snapshot.tallies(from, to)) {
    held = added(held, step, 1);
    await letOthersWork(undefined, { signal });
  }
  const counts = { withheld: 0, custom: 0 };
  for (const kind of SET_ASIDE_CLASSES) {
    for (const name of snapshot.setAside(kind)) {
      const those = snapshot.tallyOf(name, from, to);
      held = added(held, those, -1);
      counts[kind] += those.stored + those.spooled + those.seen + those.lost;
      await letOthersWork(undefined, { signal });
    }
  }
  const { stored, spooled, seen, lost } = held;
  return { occurrences: { stored, pending: spooled + seen, ...counts, lost }, spooled };
}

function added(one: HeldTally, other: HeldTally, sign: 1 | -1): HeldTally {
  return {
    stored: one.stored + sign * other.stored,
    spooled: one.spooled + sign * other.spooled,
    seen: one.seen + sign * other.seen,
    lost: one.lost + sign * other.lost,
  };
}

/** What was walked is one stretch: what is below and above it was not. */
function unexaminedIn({ from, to }: HeightRange, { lowestHeight, tipHeight }: AuditedBranch): HeightRange[] {
  if (to < from) return [];
  if (lowestHeight === null || tipHeight === null || lowestHeight > to || tipHeight < from) return [{ from, to }];
  const below = { from, to: lowestHeight - 1 };
  const above = { from: tipHeight + 1, to };
  return [below, above].filter((part) => part.from <= part.to);
}

interface Findings {
  readonly findings: readonly AuditFinding[];
  /** One of all, listed or not, is not here though its window is over. */
  readonly isOverdue: boolean;
}

/** `nowSeconds`: the median time of the tip. */
async function findingsIn(
  snapshot: AuditSnapshot,
  { from, to }: HeightRange,
  count: number,
  catalog: Catalog,
  nowSeconds: number | null,
  signal: AbortSignal,
): Promise<Findings> {
  const findings: AuditFinding[] = [];
  let isOverdue = false;
  if (count === 0) return { findings, isOverdue };
  for (const page of snapshot.unstored(from, to)) {
    for (const { transactionIndex: _, held, ...occurrence } of page) {
      const slackSeconds = nowSeconds === null ? null : occurrence.medianTimeSeconds + RETENTION_SECONDS - nowSeconds;
      isOverdue ||= held === 'seen' && slackSeconds !== null && slackSeconds <= 0;
      if (findings.length === MOST_FINDINGS) continue;
      const answers = held === 'lost' ? (catalog.losses.find(occurrence)?.answers ?? []) : [];
      const found = held === 'lost' ? ('lost' as const) : ('pending' as const);
      findings.push({ ...occurrence, class: found, isSpooled: held === 'spooled', slackSeconds, answers });
    }
    // What is not listed is looked through for what is overdue alone.
    if (findings.length === Math.min(count, MOST_FINDINGS) && (isOverdue || findings.length === count)) break;
    await letOthersWork(undefined, { signal });
  }
  return { findings, isOverdue };
}
