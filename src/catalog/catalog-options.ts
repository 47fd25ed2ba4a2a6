export interface CatalogOptions {
  readonly path: string;
  readonly migrationsFolder: string;
  /** The backends that are configured now; only they count towards `stored`. */
  readonly backends: readonly string[];
  /** The local store gives way and does not count: it is a spool and read cache. */
  readonly localIsCache?: boolean;
  /** How many of them must be proven to hold a content before it is `stored`. */
  readonly replicasRequired: number;
  readonly nowMs: () => number;
}
