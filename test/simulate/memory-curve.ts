import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const MIB = 1_048_576;

interface Point {
  readonly at: number;
  readonly heapBytes: number;
  /** Memory of buffers, without the buffers of a simulated world. */
  readonly bufferBytes: number;
  /** Everything that is neither heap nor buffers: the program, SQLite, and what the C library keeps of freed memory. */
  readonly nativeBytes: number;
  readonly residentBytes: number;
}

type Part = Exclude<keyof Point, 'at'>;

/** The memory of this process along a run, and the line that fits it best. */
export class MemoryCurve {
  readonly #points: Point[] = [];

  /** Measures behind a collection of all garbage. `worldBytes`: buffers that are not of what is measured. */
  note(at: number, worldBytes = 0): { readonly said: string; readonly heapBytes: number } {
    collect();
    const { heapUsed, heapTotal, arrayBuffers, external, rss } = process.memoryUsage();
    const point: Point = {
      at,
      heapBytes: heapUsed,
      bufferBytes: arrayBuffers - worldBytes,
      nativeBytes: rss - heapTotal - external,
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
    return { said: parts.join(', '), heapBytes: point.heapBytes };
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
