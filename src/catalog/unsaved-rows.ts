import type Database from 'better-sqlite3';
import { z } from 'zod';
import { parseVersionHash, type VersionHash } from '../core/blob/ids.ts';
import { IS_NOT_CUSTOM, ofMined } from './queue-parts.ts';

/** A blob that is on chain and not here, and that can be had until its deadline. */
export interface UnsavedBlob {
  readonly versionHash: VersionHash;
  /** Height of the newest block that has it. */
  readonly height: number;
  readonly medianTimeSeconds: number;
  /** Reason why it is not here yet; null before the first request. */
  readonly lastErrorCode: string | null;
}

/** Blobs from one height to another. */
export interface Stretch {
  readonly blobs: number;
  readonly from: number;
  readonly to: number;
}

const blobRow = z.object({
  version_hash: z.instanceof(Buffer),
  height: z.number().nullable(),
  median_time_seconds: z.number(),
  last_error_code: z.string().nullable(),
});

/** More than six hours of full blocks hold, several times over. */
const MAX_ROWS = 20_000;
const HEIGHT = '(SELECT MAX(height) FROM occurrence WHERE occurrence.version_hash = seen.version_hash)';

/** Content on chain that is absent here, by the chain's clock. Reads only. A kept custom commitment is not absent. */
export class UnsavedRows {
  readonly #reading: <T>(operation: string, work: () => T) => T;
  readonly #from: Database.Statement;
  readonly #count: Database.Statement;
  readonly #first: Database.Statement;
  readonly #last: Database.Statement;

  constructor(database: Database.Database, reading: <T>(operation: string, work: () => T) => T) {
    this.#reading = reading;
    this.#from = database.prepare(
      `${ofMined(`version_hash, ${HEIGHT} AS height, median_time_seconds, last_error_code`, `median_time_seconds >= @since AND ${IS_NOT_CUSTOM}`)}
       ORDER BY median_time_seconds LIMIT ${MAX_ROWS}`,
    );
    const between = `median_time_seconds >= @since AND median_time_seconds < @until AND ${IS_NOT_CUSTOM}`;
    this.#count = database.prepare(`SELECT SUM(count) FROM (${ofMined('COUNT(*) AS count', between)})`).pluck();
    const end = (order: 'ASC' | 'DESC') =>
      database
        .prepare(
          `${ofMined(`${HEIGHT} AS height, median_time_seconds`, between)} ORDER BY median_time_seconds ${order} LIMIT 1`,
        )
        .pluck();
    this.#first = end('ASC');
    this.#last = end('DESC');
  }

  /** With a median time from here on, nearest deadline first. */
  since(medianSeconds: number): UnsavedBlob[] {
    return this.#reading('read what is not here', () =>
      this.#from.all({ since: medianSeconds }).map((value) => {
        const found = blobRow.parse(value);
        return {
          versionHash: parseVersionHash(found.version_hash.toString('hex')),
          height: found.height ?? 0,
          medianTimeSeconds: found.median_time_seconds,
          lastErrorCode: found.last_error_code,
        };
      }),
    );
  }

  /** With a median time from `since` up to, and without, `until`; null: there are none. */
  between(since: number, until: number): Stretch | null {
    return this.#reading('count what is not here', () => {
      const blobs = z.number().parse(this.#count.get({ since, until }));
      if (blobs === 0) return null;
      const height = z.number().nullable();
      const from = height.parse(this.#first.get({ since, until })) ?? 0;
      return { blobs, from, to: height.parse(this.#last.get({ since, until })) ?? from };
    });
  }
}
