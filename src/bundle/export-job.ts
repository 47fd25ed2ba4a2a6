import { z } from 'zod';
import type { JobContext, JobKind, JobOutcome } from '../core/jobs/job-kind.ts';
import { type ExportModules, type ExportParameters, exportBundle } from './export-bundle.ts';

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
  })
  .refine(({ file, folder }) => (file === null) !== (folder === null), 'names a file or a folder');

/** `alone`: nothing else works on the archive. Called first; may refuse by throwing. */
export function exportJob(archive: ExportingArchive, alone: ((signal: AbortSignal) => Promise<void>) | null): JobKind {
  const kind = {
    kind: 'export',
    isLocalOnly: true as const,
    parameters: EXPORT_PARAMETERS,
    async run(parameters: ExportParameters, { signal, report }: JobContext): Promise<JobOutcome> {
      if (alone !== null) {
        await alone(signal);
        await archive.admitBackends(signal);
      }
      const final = archive.finalHeight(alone !== null);
      const told = (event: Parameters<Parameters<typeof exportBundle>[3]>[0]) => report({ ...event });
      return { ...(await exportBundle(parameters, final, archive.exporting, told, signal)) };
    },
  };
  return kind;
}
