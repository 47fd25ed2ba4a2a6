import type { Condition, Severity } from './condition.ts';

/** Blobs, claims or the last copies of them are in danger: the most urgent first. Everything else is ranked below. */
const CRITICAL: readonly string[] = [
  'chain/at-risk-90',
  'chain/at-risk-75',
  'chain/at-risk-50',
  'chain/overdue',
  'archive/no-good-copy',
  'chain/unstored-90',
  'chain/lost',
  'chain/final-withdrawn',
];

/** An error keeps the archive from its work; a warning is worth a look. */
export function severityOf({ code, blocksReadiness }: Pick<Condition, 'code' | 'blocksReadiness'>): Severity {
  if (CRITICAL.includes(code)) return 'critical';
  return blocksReadiness ? 'error' : 'warning';
}

/** The one order of conditions, wherever they are shown: the most severe first, of equals the oldest. */
export function bySeverity<T extends Condition>(conditions: readonly T[]): T[] {
  return conditions.toSorted((a, b) => urgencyOf(a) - urgencyOf(b) || a.since.localeCompare(b.since));
}

/** The place of a condition in that order: the smaller, the more urgent. */
export function urgencyOf({ code, severity }: Pick<Condition, 'code' | 'severity'>): number {
  const urgency = CRITICAL.indexOf(code);
  if (urgency >= 0) return urgency;
  return CRITICAL.length + (severity === 'error' ? 0 : 1);
}

/** One cause that several subjects meet with, and tell in the same words, is told once, in the place of the first. */
export function eachOnce(conditions: readonly Condition[]): Condition[] {
  const told = new Map<string, Condition>();
  for (const condition of conditions) {
    const words = `${condition.code} ${condition.message}`;
    const first = told.get(words) ?? condition;
    const since = condition.since < first.since ? condition.since : first.since;
    told.set(words, { ...first, since, blocksReadiness: first.blocksReadiness || condition.blocksReadiness });
  }
  return [...told.values()];
}
