import { readFileSync } from 'node:fs';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options: { readonly type: 'major'; readonly flavor: 'last-resort' }) => void;
const MIB = 1_048_576;
/** The allocator of the image gives back what was free for a second (`dirty_decay_ms`, Dockerfile). */
const SETTLES_MS = 1_500;
const never = new Int32Array(new SharedArrayBuffer(4));

/**
 * Collects all garbage. V8 frees buffers in threads of its own behind a collection, and counts them as freed in the next one. A
 * last resort gives back the pages as well that V8 keeps for new objects: up to 30 MiB otherwise.
 */
function settle(): void {
  for (let round = 0; round < 2; round += 1) {
    collect({ type: 'major', flavor: 'last-resort' });
    Atomics.wait(never, 0, 0, SETTLES_MS);
  }
}

/** Memory of the process that no file stands behind; where the system does not say, all that is resident. */
function anonymousBytes(residentBytes: number): number {
  if (process.platform !== 'linux') return residentBytes;
  const [, kibibytes] = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1')) ?? [];
  return kibibytes === undefined ? residentBytes : Number(kibibytes) * 1_024;
}

interface Point {
  readonly at: number;
  readonly heapBytes: number;
  /** Memory of buffers, without the buffers of a simulated world. */
  readonly bufferBytes: number;
  /** Memory that is neither heap nor buffers, and in no file: SQLite, and freed memory that the allocator keeps. */
  readonly nativeBytes: number;
  readonly residentBytes: number;
}

type Part = Exclude<keyof Point, 'at'>;

/** The memory of this process along a run, and the line that fits it best. */
export class MemoryCurve {
  readonly #points: Point[] = [];

  /** Measures once what is garbage has gone. `worldBytes`: buffers that are not of what is measured. */
  note(at: number, worldBytes = 0): string {
    settle();
    const { heapUsed, arrayBuffers, external, rss } = process.memoryUsage();
    const point: Point = {
      at,
      heapBytes: heapUsed,
      bufferBytes: arrayBuffers - worldBytes,
      nativeBytes: anonymousBytes(rss) - getHeapStatistics().total_physical_size - external,
      residentBytes: rss,
    };
    this.#points.push(point);
    const buffers = worldBytes === 0 ? '' : ` and ${inMiB(worldBytes)} of the world's`;
    const parts = [
      `heap ${inMiB(point.heapBytes)}`,
      `buffers ${inMiB(point.bufferBytes)}${buffers}`,
      `native ${inMiB(point.nativeBytes)}`,
      `resident ${inMiB(point.residentBytes)}`,
    ];
    return parts.join(', ');
  }

  /** Bytes for each unit of `at`, by least squares over everything behind the first quarter: caches fill in it. */
  slope(of: Part): number {
    const points = this.#points.slice(Math.floor(this.#points.length / 4));
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const middle = { at: mean(points.map(({ at }) => at)), bytes: mean(points.map((point) => point[of])) };
    const spread = points.reduce((sum, { at }) => sum + (at - middle.at) ** 2, 0);
    return points.reduce((sum, point) => sum + (point.at - middle.at) * (point[of] - middle.bytes), 0) / spread;
  }
}

export function inMiB(bytes: number): string {
  return `${(bytes / MIB).toFixed(2)} MiB`;
}
