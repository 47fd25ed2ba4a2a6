import { z } from 'zod';
import type { AuditRange, ChainAuditReport } from '../chain/audit.ts';
import type { JobContext, JobKind, JobOutcome } from '../core/jobs/job-kind.ts';
import { countFound, type Upkeep } from './upkeep.ts';

export interface UpkeepOfArchive {
  readonly upkeep: Upkeep;
  auditChain(range: AuditRange, signal: AbortSignal): Promise<ChainAuditReport>;
}

const HEIGHT = z.int('must be a whole number').min(0, 'must not be negative').nullable().default(null);
const MAX_PARTS = 999_999;
const SUBSET = z
  .strictObject({ index: z.int().min(1).max(MAX_PARTS), of: z.int().min(1).max(MAX_PARTS) })
  .refine(({ index, of }) => index <= of, 'names no part: index is larger than of');

/** `check`, `check-chain` and `rebuild`, as jobs: beside a running archive, or on one that stands still. */
export function upkeepJobs(archive: UpkeepOfArchive): JobKind[] {
  const { upkeep } = archive;
  const backend = z
    .string()
    .refine((name) => upkeep.places.includes(name), {
      error: ({ input }) => `no backend is named ${String(input)}; there is ${upkeep.places.join(', ')}`,
    })
    .nullable()
    .default(null);
  const check = {
    kind: 'check',
    /** `subset`: null reads nothing, all of it is the first part of one. */
    parameters: z.strictObject({
      subset: SUBSET.nullable().default(null),
      backend,
      repair: z.boolean().default(false),
    }),
    async run(asked: Parameters<Upkeep['check']>[0], { signal, report }: JobContext): Promise<JobOutcome> {
      const found = await upkeep.check(asked, (progress) => report({ event: 'progress', ...progress }), signal);
      const hasFaults = [...found.backends, ...found.custom].some(({ fault }) => fault !== null);
      // A running archive repairs what a check tells it of, soon enough or not: what was found counts all the same.
      const isFound = !asked.repair && countFound([...found.backends, ...found.custom]) > 0;
      const isMissing =
        isFound || found.leftCount > 0 || found.backends.some(({ missingRecords }) => missingRecords > 0);
      return { exitCode: hasFaults ? 1 : isMissing ? 3 : 0, report: found };
    },
  };
  const checkChain = {
    kind: 'check-chain',
    parameters: z.strictObject({ from: HEIGHT, to: HEIGHT }),
    async run(range: AuditRange, { signal }: JobContext): Promise<JobOutcome> {
      const found = await archive.auditChain(range, signal);
      return { exitCode: found.isMissing ? 3 : found.unexamined.length > 0 ? 1 : 0, report: found };
    },
  };
  const rebuild = {
    kind: 'rebuild',
    /** The only backend that is read; null: all of them are. The data folder always is. */
    parameters: z.strictObject({ from: backend }),
    async run({ from }: { from: string | null }, { signal, report }: JobContext): Promise<JobOutcome> {
      const found = await upkeep.rebuild(from, (told) => report({ event: 'progress', ...told }), signal);
      const faults = Object.keys(found.faults).filter((name) => from === null || name === from);
      return { exitCode: faults.length > 0 ? 1 : 0, report: found };
    },
  };
  return [check, checkChain, rebuild];
}
