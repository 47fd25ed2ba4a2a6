import type { Clock } from '../core/time/clock.ts';
import { type ConfiguredBackend, SPOOL } from './placement-table.ts';

/** Of SQLite's own; the file cache of the system does the rest. The log holds as much before it is written back. */
export const MEMORY = { cacheBytes: 16 * 1024 * 1024, logBytes: 16 * 1024 * 1024 } as const;

export interface CatalogOptions {
  readonly path: string;
  readonly migrationsFolder: string;
  /** The backends that are configured now; only they count towards `stored`. */
  readonly backends: readonly string[];
  /** Where the bytes of each lie, by its name. One that is not named here has always been where it is. */
  readonly places?: ReadonlyMap<string, string>;
  /** The local store gives way and does not count: it is a spool and read cache. */
  readonly localIsCache?: boolean;
  /** How many of them must be proven to hold a content before it is `stored`. */
  readonly replicasRequired: number;
  /** Reads the whole file first; one that is damaged is set aside, and the catalog begins anew. */
  readonly remakesDamaged?: boolean;
  readonly clock: Clock;
}

/** All that hold bytes, whether they count or not. */
export function configuredBackends({ backends, localIsCache = false }: CatalogOptions): ConfiguredBackend[] {
  const cache = localIsCache ? [{ name: SPOOL, counts: false }] : [];
  return [...cache, ...backends.map((name) => ({ name, counts: true }))];
}
