import type { ArchiveRule } from '../core/blob/archive-rule.ts';
import type { Clock } from '../core/time/clock.ts';
import { type ConfiguredBackend, SPOOL } from './placement-table.ts';

/**
 * Size of SQLite's own cache; the system's file cache does the rest. The log grows to as much before it is written
 * back.
 */
export const MEMORY = { cacheBytes: 16 * 1024 * 1024, logBytes: 16 * 1024 * 1024 } as const;

export interface CatalogOptions {
  readonly path: string;
  readonly migrationsFolder: string;
  /** The backends that are configured now; only they count towards `stored`. */
  readonly backends: readonly string[];
  /** Place of the bytes of each backend, by its name. A backend without an entry has never moved. */
  readonly places?: ReadonlyMap<string, string>;
  /** The local store gives way and does not count: it is a spool and read cache. */
  readonly localIsCache?: boolean;
  /** Number of backends that must be proven to hold a content before it is `stored`. */
  readonly replicasRequired: number;
  /** Rule of which blobs are archived. Default: all of them. */
  readonly rule?: ArchiveRule;
  /** Rules of backends that take some of the blobs alone, by name. */
  readonly backendRules?: ReadonlyMap<string, ArchiveRule>;
  /** Reads the whole file first; a damaged one is set aside, and the catalog starts empty. */
  readonly remakesDamaged?: boolean;
  readonly clock: Clock;
}

/** All that hold bytes, whether they count or not. */
export function configuredBackends({
  backends,
  backendRules,
  localIsCache = false,
}: CatalogOptions): ConfiguredBackend[] {
  const cache = localIsCache ? [{ name: SPOOL, counts: false, rule: null }] : [];
  return [...cache, ...backends.map((name) => ({ name, counts: true, rule: backendRules?.get(name) ?? null }))];
}
