import { z } from 'zod';
import type { JobContext, JobKind, JobOutcome } from '../core/jobs/job-kind.ts';
import { workBeside } from '../core/jobs/work-beside.ts';
import { type ImportModules, importSources } from './import-sources.ts';

export interface ImportingArchive {
  readonly importing: ImportModules;
  runForImport(signal: AbortSignal): Promise<void>;
}

const MAX_SOURCES = 1_024;
const MAX_SOURCE_CHARS = 4_096;

export const IMPORT_PARAMETERS = z.strictObject({
  /** Whole paths, and addresses. */
  sources: z.array(z.string().min(1).max(MAX_SOURCE_CHARS)).min(1).max(MAX_SOURCES),
});

/** `alone`: nothing else works on the archive, so that what an import needs of it runs with it. Called first; may refuse by throwing. */
export function importJob(archive: ImportingArchive, alone: ((signal: AbortSignal) => Promise<void>) | null): JobKind {
  const kind = {
    kind: 'import',
    isLocalOnly: true as const,
    parameters: IMPORT_PARAMETERS,
    async run({ sources }: z.output<typeof IMPORT_PARAMETERS>, { signal, report }: JobContext): Promise<JobOutcome> {
      const work = () => importSources(sources, archive.importing, (event) => report({ ...event }), signal);
      if (alone === null) return { ...(await work()) };
      await alone(signal);
      return { ...(await workBeside((ending) => archive.runForImport(ending), work, signal)) };
    },
  };
  return kind;
}
