import { type Command, Option } from 'commander';
import { addressWithoutCredentials } from '../../config/index.ts';
import { SYSTEM_CLOCK } from '../../core/time/clock.ts';
import { type CliContext, EXIT, type ExitCode, interruptedCode, print, printJson } from '../cli-context.ts';
import { addTargetOptions, type DaemonTarget, findDaemon, givenTarget } from '../daemon-address.ts';
import { askDaemon, readAnswer } from '../daemon-client.ts';
import { jobReport, type Standing, showStatusReport, standingOf, statusReport } from '../status-report.ts';
import type { VerbOptions } from '../verb-options.ts';

const CHECKED: Readonly<Record<Standing, ExitCode>> = { danger: EXIT.missing, unknown: EXIT.failed, safe: EXIT.done };
const REFUSED = new Set([401, 403]);

export function define(command: Command): Command {
  return addTargetOptions(command)
    .addOption(new Option('--watch', 'refresh every two seconds, until Ctrl-C').conflicts(['json', 'check']))
    .addOption(new Option('--check', 'end with an exit code that says how the archive stands, for cron and Nagios'))
    .addHelpText(
      'after',
      `
Exit codes: 0 the daemon answered, whatever it said; 1 it could not be asked. With --check: 0 nothing is at risk; 3 blobs
are at risk, or a copy or a claim is in danger, or blobs are lost; 1 the archive cannot tell (no daemon, no node, the walk is
behind, or the archive is not ready).`,
    );
}

export async function handle(options: VerbOptions, context: CliContext): Promise<ExitCode> {
  const { json, own } = options;
  if (own['watch'] === true) {
    const { watchScreen } = await import('../watch-screen.ts');
    await watchScreen(async () => (await look(options, context)).lines, context);
    return interruptedCode(context.signal);
  }
  const { report, jobs, lines } = await look(options, context);
  if (json) printJson(context, { ...report, jobs });
  else for (const line of lines) print(context, line);
  return own['check'] === true ? CHECKED[standingOf(report)] : EXIT.done;
}

async function look({ config, own }: VerbOptions, context: CliContext) {
  const target = await findDaemon(config, context.cwd, givenTarget(own));
  const report = readAnswer(await askDaemon(target, { path: '/v1/status' }, context.signal), statusReport);
  const jobs = await jobsOf(target, context.signal);
  const address = addressWithoutCredentials(target.url);
  return { report, jobs, lines: showStatusReport(report, { address, jobs, nowMs: SYSTEM_CLOCK.wallMs() }) };
}

/** null: the daemon shows them to operators alone. */
async function jobsOf(target: DaemonTarget, signal: AbortSignal) {
  if (target.socket === null && target.token === null) return null;
  const answer = await askDaemon(target, { path: '/admin/jobs' }, signal);
  return REFUSED.has(answer.status) ? null : readAnswer(answer, jobReport).jobs;
}
