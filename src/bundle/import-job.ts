import { z } from 'zod';
import type { JobContext, JobKind, JobOutcome } from '../core/jobs/job-kind.ts';
import { workBeside } from '../core/jobs/work-beside.ts';
import type { BundleJobOptions } from './export-job.ts';
import { importSources } from './import-sources.ts';
import type { ImportModules } from './importer.ts';

export interface ImportingArchive {
  readonly importing: ImportModules;
  runForImport(signal: AbortSignal): Promise<void>;
}

const MAX_SOURCES = 1_024;
const MAX_SOURCE_CHARS = 4_096;

export const IMPORT_PARAMETERS = z.strictObject({
  /** Whole paths, addresses, and `s3=<bucket>[/<prefix>][?backend=<id>]`. */
  sources: z.array(z.string().min(1).max(MAX_SOURCE_CHARS)).min(1).max(MAX_SOURCES),
});

/** `alone`: what an import needs of the archive runs with the import. */
export function importJob(archive: ImportingArchive, { openBucket, alone }: BundleJobOptions): JobKind {
  const kind = {
    kind: 'import',
    isLocalOnly: true as const,
    parameters: IMPORT_PARAMETERS,
    async run({ sources }: z.output<typeof IMPORT_PARAMETERS>, { signal, report }: JobContext): Promise<JobOutcome> {
      const modules = { ...archive.importing, openBucket };
      const work = () => importSources(sources, modules, (event) => report({ ...event }), signal);
      if (alone === null) return { ...(await work()) };
      await alone(signal);
      return { ...(await workBeside((ending) => archive.runForImport(ending), work, signal)) };
    },
  };
  return kind;
}
