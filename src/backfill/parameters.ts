import { z } from 'zod';

/** Blobs under way at a time: each may hold 6 MiB (hex text and its bytes) in memory. */
const MAX_REQUESTS = 16;
const MAX_SOURCES = 16;

const height = z.int().min(0).max(0x7fffffff);

/** Parameters of a backfill job. */
export const BACKFILL_PARAMETERS = z.strictObject({
  /** null: where the walk began. */
  fromHeight: height.nullable().default(null),
  /** null: the tip. */
  toHeight: height.nullable().default(null),
  /** Sources in the syntax of `--source`, asked in this order. */
  sources: z.array(z.string().max(2_048)).max(MAX_SOURCES).default([]),
  /** Only says what would be fetched, and from where. */
  dryRun: z.boolean().default(false),
  requests: z.int().min(1).max(MAX_REQUESTS).default(8),
  bytesPerSecond: z.int().min(65_536).nullable().default(null),
});
export type BackfillParameters = z.output<typeof BACKFILL_PARAMETERS>;

/** Sources when none is named. */
export const DEFAULT_SOURCES: readonly string[] = ['node'];
