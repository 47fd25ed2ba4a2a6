import type { PageWindow } from './window.ts';

export interface Rates {
  /** Mean over the drawn blocks. The rates of the chain use its own clock. */
  readonly blobsPerBlock: number;
  readonly chainBytesPerHour: number;
  /** Mean since the page opened, over the last five minutes at most; null until enough time has passed. */
  readonly archivedPerMinute: number | null;
  readonly nodeCallsPerMinute: number | null;
}

interface Sample {
  readonly atMs: number;
  readonly held: number;
  readonly calls: number;
}

const OVER_MS = 300_000;
const MIN_MS = 5_000;

/** Computes rates from the windows that the archive sends. It causes no further requests. */
export class RateMeter {
  readonly #samples: Sample[] = [];

  /** Adds a window that just arrived, and returns the new rates. */
  measure(window: PageWindow): Rates {
    const { content, node } = window.status;
    const now = { atMs: Date.parse(window.at), held: content.spooled + content.stored, calls: node.calls };
    const last = this.#samples.at(-1);
    // The counters restarted with another process of the archive.
    if (last !== undefined && (now.calls < last.calls || now.atMs < last.atMs)) this.#samples.length = 0;
    this.#samples.push(now);
    while ((this.#samples[1]?.atMs ?? now.atMs) <= now.atMs - OVER_MS) this.#samples.shift();
    const first = this.#samples[0] ?? now;
    const minutes = (now.atMs - first.atMs) / 60_000;
    const perMinute = (value: number) => (minutes * 60_000 < MIN_MS ? null : Math.max(0, value) / minutes);
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
