import type { Command } from 'commander';
import { parseAttestation } from '../../verify/index.ts';
import { heightOf } from '../check/check-chain.ts';
import { type CliContext, type ExitCode, print, printJson } from '../cli-context.ts';
import { runJob } from '../run-job.ts';
import type { VerbOptions } from '../verb-options.ts';
import { attestationLines } from '../verify-attestation.ts';

export function define(command: Command): Command {
  return command
    .option('--from <height>', 'the first height (default: the lowest that was walked, history included)')
    .option('--to <height>', 'the last height (default: the highest final one)')
    .option('--new-key', 'make another key first; the one until now signs it, and is deleted');
}

/** Runs inside the daemon on the folder, which alone knows what is final. */
export async function handle(options: VerbOptions, context: CliContext): Promise<ExitCode> {
  const { own, json } = options;
  const parameters = {
    from: heightOf(own['from'], '--from'),
    to: heightOf(own['to'], '--to'),
    newKey: own['newKey'] === true,
  };
  const { exitCode, report } = await runJob({ kind: 'attest', parameters }, options, context, () => {});
  if (json) printJson(context, report);
  else for (const line of attestationLines(parseAttestation(JSON.stringify(report)))) print(context, line);
  return exitCode;
}
