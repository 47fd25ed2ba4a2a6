import { z } from 'zod';

const stretch = z.object({ blobs: z.int(), from: z.int(), to: z.int() });
const timed = stretch.extend({ deadlineSeconds: z.int(), slackSeconds: z.int() });

/** Possible losses of a gap, kept as evidence so that the search continues after a stop. */
export const outageReport = z.object({
  format: z.literal(1),
  /** `walk`: blocks came while we, or the node, were away. `node`: the node has blocks, and not the bytes of their blobs. */
  kind: z.enum(['walk', 'node']),
  noticedAt: z.iso.datetime(),
  /** Heights that were missed. */
  from: z.int(),
  to: z.int(),
  /** From the median time before them, on the chain's clock. */
  sinceSeconds: z.int(),
  missedSeconds: z.int(),
  /** Absent contents whose window is over: they may be lost everywhere. */
  mayBeLost: stretch.nullable(),
  /** Absent contents that a node can still give, by their nearest deadline. */
  savable: timed.nullable(),
  /**
   * Absent contents, not pruned yet, that the nodes answered not to have: another source has them, or they are lost at
   * the deadline.
   */
  lacking: timed.nullable(),
  /** Sources that are asked for them. */
  sources: z.array(z.string()),
  /** When nothing of it was open any more. */
  endedAt: z.iso.datetime().nullable(),
  /** At the end: what became of every occurrence at these heights. */
  outcome: z.record(z.string(), z.int()).nullable(),
});
export type OutageReport = z.output<typeof outageReport>;

/** Below `audit/<archiver id>/`. */
export const OUTAGES = 'outages';

export function outagePath({ noticedAt }: OutageReport): string {
  return `${OUTAGES}/${noticedAt.replace(/[-:]/g, '')}.json`;
}

export function describeOutage(report: OutageReport): string {
  const { kind, from, to, missedSeconds, mayBeLost, savable, lacking, sources } = report;
  const blocks = to - from + 1;
  const what =
    kind === 'walk'
      ? `${blocks} blocks came while Holdfast was down (heights ${from} to ${to}, ${hours(missedSeconds)}).`
      : `The node has blocks without the bytes of their blobs, as after an outage of its own (heights ${from} to ${to}).`;
  const parts = [what];
  if (mayBeLost !== null) parts.push(`May already be lost: ${placed(mayBeLost)}.`);
  if (savable !== null) parts.push(`Savable from the node, first of all: ${placed(savable)}, ${until(savable)}.`);
  if (lacking !== null) parts.push(`Not at any node: ${placed(lacking)}, ${until(lacking)}.`);
  if (mayBeLost === null && savable === null && lacking === null) parts.push('Nothing of it is missing.');
  else parts.push(`Asked: ${sources.join(', ')}.`);
  return parts.join(' ');
}

function placed({ blobs, from, to }: z.output<typeof stretch>): string {
  return `${blobs} blobs at ${from === to ? `height ${from}` : `heights ${from} to ${to}`}`;
}

function until({ deadlineSeconds, slackSeconds }: z.output<typeof timed>): string {
  const left = slackSeconds > 0 ? `${hours(slackSeconds)} left` : 'any moment';
  return `until ${new Date(deadlineSeconds * 1_000).toISOString()} on the chain’s clock (${left})`;
}

function hours(seconds: number): string {
  return seconds >= 5_400 ? `${(seconds / 3_600).toFixed(1)} h` : `${Math.max(1, Math.round(seconds / 60))} min`;
}
