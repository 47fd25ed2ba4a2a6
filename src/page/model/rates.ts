import type { PageWindow } from './window.ts';

export interface Rates {
  /** Of the blocks that are drawn: by the chain's clock. */
  readonly blobsPerBlock: number;
  readonly chainBytesPerHour: number;
  /** Since the page watches, at most over the last minutes; null: not watched for long enough. */
  readonly archivedPerMinute: number | null;
  readonly nodeCallsPerMinute: number | null;
}

interface Sample {
  readonly atMs: number;
  readonly held: number;
  readonly calls: number;
}

const OVER_MS = 300_000;
const LEAST_MS = 5_000;

/** Counts what comes in. Nothing of it is asked for: it is in what the archive sends anyway. */
export class RateMeter {
  readonly #samples: Sample[] = [];

  /** With a window as it was just sent. */
  measure(window: PageWindow): Rates {
    const { content, node } = window.status;
    const now = { atMs: Date.parse(window.at), held: content.spooled + content.stored, calls: node.calls };
    const last = this.#samples.at(-1);
    // Another process began to count anew.
    if (last !== undefined && (now.calls < last.calls || now.atMs < last.atMs)) this.#samples.length = 0;
    this.#samples.push(now);
    while ((this.#samples[1]?.atMs ?? now.atMs) <= now.atMs - OVER_MS) this.#samples.shift();
    const first = this.#samples[0] ?? now;
    const minutes = (now.atMs - first.atMs) / 60_000;
    const perMinute = (value: number) => (minutes * 60_000 < LEAST_MS ? null : Math.max(0, value) / minutes);
    return {
      ...chainRates(window),
      archivedPerMinute: perMinute(now.held - first.held),
      nodeCallsPerMinute: perMinute(now.calls - first.calls),
    };
  }
}

function chainRates({ blocks }: PageWindow): Pick<Rates, 'blobsPerBlock' | 'chainBytesPerHour'> {
  const [first, last] = [blocks.at(0), blocks.at(-1)];
  const blobs = blocks.flatMap((block) => block.blobs);
  const bytes = blobs.reduce((sum, { sizeBytes }) => sum + (sizeBytes ?? 0), 0);
  const seconds = first === undefined || last === undefined ? 0 : last.timeSeconds - first.timeSeconds;
  return {
    blobsPerBlock: blocks.length === 0 ? 0 : blobs.length / blocks.length,
    chainBytesPerHour: seconds <= 0 ? 0 : (bytes * 3_600) / seconds,
  };
}
