import { z } from 'zod';
import type { JobContext, JobKind, JobOutcome } from '../core/jobs/job-kind.ts';
import { type ExportModules, exportBundle } from './export-bundle.ts';
import type { OpenBucket } from './source-parts.ts';

export interface ExportingArchive {
  readonly exporting: ExportModules;
  /** Up to here everything is final now; of an archive that stands still, as it was when it ran last. */
  finalHeight(isAlone: boolean): number | null;
  /** Lets the backends in, for an archive that stands still. */
  admitBackends(signal: AbortSignal): Promise<unknown>;
}

const MAX_PATH_CHARS = 4_096;
const height = z.int().min(0).max(0x7fffffff);
const path = z.string().min(1).max(MAX_PATH_CHARS);

export const EXPORT_PARAMETERS = z
  .strictObject({
    fromHeight: height.nullable().default(null),
    toHeight: height.nullable().default(null),
    file: path.nullable().default(null),
    folder: path.nullable().default(null),
    /** `<bucket>[/<prefix>][?backend=<id>]` */
    bucket: path.nullable().default(null),
  })
  .refine(
    ({ file, folder, bucket }) => [file, folder, bucket].filter((place) => place !== null).length === 1,
    'names a file, a folder or a bucket',
  );

export interface BundleJobOptions {
  readonly openBucket: OpenBucket;
  /** Nothing else works on the archive. Called first; may refuse by throwing. null: the archive runs. */
  readonly alone: ((signal: AbortSignal) => Promise<void>) | null;
}

export function exportJob(archive: ExportingArchive, { openBucket, alone }: BundleJobOptions): JobKind {
  const kind = {
    kind: 'export',
    isLocalOnly: true as const,
    parameters: EXPORT_PARAMETERS,
    async run(given: z.output<typeof EXPORT_PARAMETERS>, { signal, report }: JobContext): Promise<JobOutcome> {
      if (alone !== null) {
        await alone(signal);
        await archive.admitBackends(signal);
      }
      const final = archive.finalHeight(alone !== null);
      const told = (event: Parameters<Parameters<typeof exportBundle>[3]>[0]) => report({ ...event });
      const bucket = given.bucket === null ? null : await openBucket(given.bucket);
      try {
        return { ...(await exportBundle({ ...given, bucket }, final, archive.exporting, told, signal)) };
      } finally {
        bucket?.close();
      }
    },
  };
  return kind;
}
