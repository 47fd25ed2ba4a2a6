import { type BlobRecord, expectedReplicas } from './record.ts';
import { type PageBlob, type PageBlock, type PageWindow, secondsLeft } from './window.ts';

/** A blob of the window that is not safe yet. */
export interface UrgentBlob {
  readonly blob: PageBlob;
  readonly block: PageBlock;
  /** Seconds on the chain's clock until the node may prune the blob. */
  readonly secondsLeft: number;
}

const NOT_HERE: readonly string[] = ['at-risk', 'seen'];

/** The blobs that are not stored, the most urgent first: those that are not durable here, then those that are. */
export function byUrgency(window: PageWindow): UrgentBlob[] {
  return window.blocks
    .flatMap((block) =>
      block.blobs
        .filter(({ state }) => NOT_HERE.includes(state) || state === 'spooled')
        .map((blob) => ({ blob, block, secondsLeft: secondsLeft(window, block) })),
    )
    .sort((a, b) => rank(a) - rank(b) || a.secondsLeft - b.secondsLeft);
}

function rank({ blob }: UrgentBlob): number {
  return NOT_HERE.includes(blob.state) ? 0 : 1;
}

/** Says what keeps a blob from being stored, by its record. */
export function whatKeeps(record: Pick<BlobRecord, 'state' | 'lastFailure' | 'replicas'>): string {
  if (record.state === 'stored') return 'It is stored by now.';
  if (record.state === 'withheld') return 'An operator withholds it.';
  if (record.state === 'not-archived-by-rule') return 'A rule of the operator leaves it out.';
  if (record.state !== 'spooled') {
    return record.lastFailure ?? 'Its bytes are not here yet, and no fetch of them has failed.';
  }
  const missing = expectedReplicas(record).filter(({ state }) => state !== 'good');
  if (missing.length === 0) return 'It is durable here, and not on enough backends yet.';
  const failed = missing.filter(({ lastFailure }) => lastFailure !== null);
  const reasons = failed.map(({ backend, lastFailure }) => ` ${backend}: ${lastFailure}`);
  return `It is durable here, and not proven yet on ${missing.map(({ backend }) => backend).join(', ')}.${reasons.join('')}`;
}
