import { z } from 'zod';
import type { JobContext, JobKind, JobOutcome } from '../core/jobs/job-kind.ts';
import type { Attestor } from './attestor.ts';

const HEIGHT = z.int('must be a whole number').min(0, 'must not be negative').nullable().default(null);
const PARAMETERS = z.strictObject({
  from: HEIGHT,
  to: HEIGHT,
  newKey: z.boolean('must be true or false').default(false),
});

/** `attest`: states what is held now. With a new key, that one signs already. */
export function attestJob({ attestor }: { readonly attestor: Attestor }): JobKind {
  const job = {
    kind: 'attest',
    parameters: PARAMETERS,
    async run({ newKey, ...range }: z.output<typeof PARAMETERS>, { signal }: JobContext): Promise<JobOutcome> {
      if (newKey) await attestor.rotateKey();
      return { exitCode: 0, report: await attestor.attest(range, signal) };
    },
  };
  return job;
}
