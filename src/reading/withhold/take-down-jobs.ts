import { z } from 'zod';
import { isPublicReason, MAX_PUBLIC_REASON_CHARS } from '../../catalog/withheld-document.ts';
import { type NamedHash, parseNamedHash } from '../../core/blob/ids.ts';
import type { JobContext, JobKind, JobOutcome } from '../../core/jobs/job-kind.ts';
import type { TakeDowns } from './take-downs.ts';

/** 64 hex characters mean either hash type; `0x` and the 66 characters of the chain are accepted. */
export const WITHHELD_NAME = z.string().transform((text, context): NamedHash => {
  try {
    return parseNamedHash(text);
  } catch {
    context.addIssue({ code: 'custom', message: 'must be 64 hex characters, or the 66 of the chain' });
    return z.NEVER;
  }
});
const MAX_REASON_CHARS = 2_000;
export const WITHHOLDING = z.strictObject({
  hash: WITHHELD_NAME,
  reason: z
    .string('must be text')
    .trim()
    .min(1, 'must say why')
    .max(MAX_REASON_CHARS, `must have at most ${MAX_REASON_CHARS} characters`),
  publicReason: z
    .string('must be text')
    .trim()
    .refine(isPublicReason, `must be one line of 1 to ${MAX_PUBLIC_REASON_CHARS} characters without control characters`)
    .nullable()
    .default(null),
  purge: z.boolean('must be true or false').default(false),
});

/** `withhold`, `withhold-revoke` and `withhold-list`. Exit code 3: bytes that were to be purged are still somewhere. */
export function takeDownJobs({ takeDowns }: { readonly takeDowns: TakeDowns }): JobKind[] {
  const withhold = {
    kind: 'withhold',
    parameters: WITHHOLDING,
    async run({ hash, ...how }: z.output<typeof WITHHOLDING>, { signal }: JobContext): Promise<JobOutcome> {
      const report = await takeDowns.withhold(hash, how, signal);
      const isLeft = report.purged.some(({ outcome }) => outcome === 'locked' || outcome === 'failed');
      return { exitCode: isLeft ? 3 : 0, report };
    },
  };
  const revoke = {
    kind: 'withhold-revoke',
    parameters: z.strictObject({ hash: WITHHELD_NAME }),
    async run({ hash }: { hash: NamedHash }, { signal }: JobContext): Promise<JobOutcome> {
      return { exitCode: 0, report: await takeDowns.revoke(hash, signal) };
    },
  };
  const list = {
    kind: 'withhold-list',
    parameters: z.strictObject({}),
    async run(): Promise<JobOutcome> {
      return { exitCode: 0, report: { withheld: takeDowns.list() } };
    },
  };
  return [withhold, revoke, list];
}
