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

/**
 * Heights to compare. null: from the lowest followed height, history included, up to the node's tip as far as known.
 */
export interface AuditRange {
  readonly from: number | null;
  readonly to: number | null;
}

/**
 * `stored`. `pending`: on chain and not stored yet. `custom`: bytes that match neither hash, kept apart. `withheld`:
 * taken down by the operator, whatever is held of the blob. `lost`: every source answered that it lacks the bytes.
 * `not-archived-by-rule`: the operator's rule leaves it out.
 */
export const OCCURRENCE_CLASSES = ['stored', 'pending', 'custom', 'withheld', 'lost', 'not-archived-by-rule'] as const;
export type OccurrenceClass = (typeof OCCURRENCE_CLASSES)[number];

/** An occurrence on chain that is pending or lost. */
export interface AuditFinding extends Omit<UnstoredOccurrence, 'transactionIndex' | 'held'> {
  readonly class: 'pending' | 'lost';
  /** true when the blob is durable here but not on enough backends yet. */
  readonly isSpooled: boolean;
  /** Seconds on the chain's clock until the node may prune the blob; negative after that. */
  readonly slackSeconds: number | null;
  /** For a lost blob: the sources that answered that they lack it, with times. */
  readonly answers: readonly AbsenceAnswer[];
}

export interface ChainAuditReport {
  readonly range: HeightRange;
  readonly startHeight: number | null;
  readonly walkedHeight: number | null;
  readonly finalHeight: number | null;
  readonly examinedBlocks: number;
  /** Heights of the range that were not examined. The report says nothing about them. */
  readonly unexamined: readonly HeightRange[];
  readonly occurrences: Readonly<Record<OccurrenceClass, number>>;
  /** Pending occurrences that are durable here. */
  readonly spooled: number;
  readonly unclearTransactions: number;
  /** Pending and lost occurrences in the order of the chain, capped; `findingCount` counts all of them. */
  readonly findings: readonly AuditFinding[];
  readonly findingCount: number;
  /** true when every height was examined and none has a pending or lost occurrence. */
  readonly isComplete: boolean;
  /**
   * true when an occurrence is lost, or pending after its window. A pending occurrence within its window is not missing
   * yet.
   */
  readonly isMissing: boolean;
}

/** Facts for an audit that the catalog does not have. */
export interface AuditFacts {
  readonly finalHeight: number | null;
  /** Tip of the node, which the follower may not have reached; null when unknown. */
  readonly nodeTip: { readonly height: number; readonly medianTimeSeconds: number } | null;
}

/** Classes that are counted apart, whatever is held. */
const SET_ASIDE_CLASSES = ['withheld', 'custom'] as const satisfies readonly SetAsideClass[];
/** Most findings listed in one report; all of them are counted. */
const MAX_FINDINGS = 10_000;
/** Blocks that the follower may be behind the node and still count as current. */
const MAX_BEHIND = 2;

/**
 * Compares every occurrence in a range of heights with what is held, at one moment. Works in steps of some
 * milliseconds, between which other work runs; the follower keeps the moment consistent. Rejects with the signal's
 * reason on abort.
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

/** Resolves the range. A default end never makes the range empty, because an empty range would count as complete. */
function rangeOf(asked: AuditRange, branch: AuditedBranch, nodeTip: AuditFacts['nodeTip']): HeightRange {
  // History below the start height is known too, so a verdict without it would be wrong.
  const start = Math.min(branch.startHeight ?? 0, branch.lowestHeight ?? Number.POSITIVE_INFINITY);
  const from = asked.from ?? Math.min(start, asked.to ?? start);
  return { from, to: asked.to ?? Math.max(topOf(branch, nodeTip) ?? start, from) };
}

/** The range includes heights that the follower should have reached and has not, because their content is unknown. */
function topOf({ tipHeight }: AuditedBranch, nodeTip: AuditFacts['nodeTip']): number | null {
  if (nodeTip === null || tipHeight === null) return tipHeight;
  return nodeTip.height - tipHeight > MAX_BEHIND ? nodeTip.height : tipHeight;
}

/** The chain's clock. Deadlines approach even while the follower stands still. */
function chainsClock({ tipMedianSeconds }: AuditedBranch, nodeTip: AuditFacts['nodeTip']): number | null {
  if (tipMedianSeconds === null || nodeTip === null) return tipMedianSeconds;
  return Math.max(tipMedianSeconds, nodeTip.medianTimeSeconds);
}

async function classesIn({ from, to }: HeightRange, snapshot: AuditSnapshot, signal: AbortSignal) {
  let held: HeldTally = { stored: 0, spooled: 0, seen: 0, lost: 0, 'not-archived-by-rule': 0 };
  for (const step of snapshot.tallies(from, to)) {
    held = added(held, step, 1);
    await letOthersWork(undefined, { signal });
  }
  const counts = { withheld: 0, custom: 0 };
  for (const kind of SET_ASIDE_CLASSES) {
    for (const name of snapshot.setAside(kind)) {
      const those = snapshot.tallyOf(name, from, to);
      held = added(held, those, -1);
      counts[kind] += Object.values(those).reduce((sum, count) => sum + count, 0);
      await letOthersWork(undefined, { signal });
    }
  }
  const { stored, spooled, seen, lost, 'not-archived-by-rule': leftOut } = held;
  const occurrences = { stored, pending: spooled + seen, ...counts, lost, 'not-archived-by-rule': leftOut };
  return { occurrences, spooled };
}

function added(one: HeldTally, other: HeldTally, sign: 1 | -1): HeldTally {
  return {
    stored: one.stored + sign * other.stored,
    spooled: one.spooled + sign * other.spooled,
    seen: one.seen + sign * other.seen,
    lost: one.lost + sign * other.lost,
    'not-archived-by-rule': one['not-archived-by-rule'] + sign * other['not-archived-by-rule'],
  };
}

/** The followed blocks are one contiguous range; the heights below and above it are unexamined. */
function unexaminedIn({ from, to }: HeightRange, { lowestHeight, tipHeight }: AuditedBranch): HeightRange[] {
  if (to < from) return [];
  if (lowestHeight === null || tipHeight === null || lowestHeight > to || tipHeight < from) return [{ from, to }];
  const below = { from, to: lowestHeight - 1 };
  const above = { from: tipHeight + 1, to };
  return [below, above].filter((part) => part.from <= part.to);
}

interface Findings {
  readonly findings: readonly AuditFinding[];
  /** true when any occurrence, listed or not, is missing after its window. */
  readonly isOverdue: boolean;
}

/**
 * Collects findings.
 * @param nowSeconds the median time of the tip
 */
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
      if (findings.length === MAX_FINDINGS) continue;
      const answers = held === 'lost' ? (catalog.losses.find(occurrence)?.answers ?? []) : [];
      const found = held === 'lost' ? ('lost' as const) : ('pending' as const);
      findings.push({ ...occurrence, class: found, isSpooled: held === 'spooled', slackSeconds, answers });
    }
    // Beyond the listed findings, the scan only looks for an overdue one.
    if (findings.length === Math.min(count, MAX_FINDINGS) && (isOverdue || findings.length === count)) break;
    await letOthersWork(undefined, { signal });
  }
  return { findings, isOverdue };
}
