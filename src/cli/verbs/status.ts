import type { Command } from 'commander';
import { addressWithoutCredentials } from '../../config/index.ts';
import { type CliContext, EXIT, type ExitCode, print, printJson } from '../cli-context.ts';
import { addTargetOptions, findDaemon, givenTarget } from '../daemon-address.ts';
import { askDaemon, readAnswer } from '../daemon-client.ts';
import { showStatusReport, statusReport } from '../status-report.ts';
import type { VerbOptions } from '../verb-options.ts';

export function define(command: Command): Command {
  return addTargetOptions(command).addHelpText(
    'after',
    '\nExit codes: 0 the daemon answered, whatever it said; 1 it could not be asked. For scripts: --json, or GET /readyz.',
  );
}

export async function handle({ config, json, own }: VerbOptions, context: CliContext): Promise<ExitCode> {
  const target = await findDaemon(config, context.cwd, givenTarget(own));
  const found = readAnswer(await askDaemon(target, { path: '/v1/status' }, context.signal), statusReport);
  if (json) printJson(context, found);
  else for (const line of showStatusReport(found, addressWithoutCredentials(target.url))) print(context, line);
  return EXIT.done;
}
