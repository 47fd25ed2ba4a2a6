import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { heightOf, showChainReport } from '../check/check-chain.ts';
import { checkProgress, checkReport, parseSubset, showReport } from '../check/check-report.ts';
import { type CliContext, type ExitCode, print, printJson } from '../cli-context.ts';
import { archiveFolder } from '../daemon-address.ts';
import { CliError } from '../errors.ts';
import { keeping } from '../interrupted.ts';
import { stepProgress } from '../progress.ts';
import { runJob } from '../run-job.ts';
import type { VerbOptions } from '../verb-options.ts';

export function define(command: Command): Command {
  return command
    .option('--read-data', 'also read every copy and hash it')
    .option('--subset <n/t>', 'with --read-data: only the n-th of t equal parts, like 3/30')
    .option('--backend <name>', 'only this one: local, s3, ipfs, or a name from the list of backends')
    .option('--chain', 'instead: is everything that is on chain stored?')
    .option('--from <height>', 'with --chain: the first height (default: the lowest that was walked, history included)')
    .option('--to <height>', 'with --chain: the last height (default: the tip; what was not walked is named)')
    .option('--repair', 'replace what is missing or damaged from good copies');
}

/**
 * Runs inside the daemon on the folder, else alone. Exit code 3: objects are missing or damaged, or were until that
 * daemon repaired them, and they are listed. 1: a backend could not be asked, or heights were not examined, so their
 * state is unknown.
 */
export async function handle(options: VerbOptions, context: CliContext): Promise<ExitCode> {
  const { own, json } = options;
  refuseIgnored(own);
  const folder = archiveFolder(options.config, context.cwd);
  if (!existsSync(folder)) throw noFolder(folder);
  if (own['chain'] === true) {
    const range = { from: heightOf(own['from'], '--from'), to: heightOf(own['to'], '--to') };
    const work = runJob({ kind: 'check-chain', parameters: range }, options, context, () => {});
    const { exitCode, report } = await keeping(
      context,
      work,
      () => 'Nothing was changed; the same command starts again from the beginning.',
    );
    if (json) printJson(context, report);
    else for (const line of showChainReport(report)) print(context, line);
    return exitCode;
  }
  const part = typeof own['subset'] === 'string' ? parseSubset(own['subset']) : { index: 1, of: 1 };
  const repair = own['repair'] === true;
  const parameters = {
    subset: own['readData'] === true || typeof own['subset'] === 'string' ? part : null,
    backend: typeof own['backend'] === 'string' ? own['backend'] : null,
    repair,
  };
  const progress = stepProgress(context);
  const work = runJob({ kind: 'check', parameters }, options, context, (event) => {
    const told = checkProgress.safeParse(event).data;
    if (json || told === undefined) return;
    const { backend, step, done, total } = told;
    const label = `${backend}: ${step}`;
    progress.tell({ label, done, total, line: `${label} ${done}${total === null ? '' : ` of ${total}`}` });
  });
  const { exitCode, report } = await keeping(context, work, () => whatIsKept(parameters)).finally(progress.stop);
  if (json) printJson(context, report);
  else for (const line of showReport(checkReport.parse(report), repair)) print(context, line);
  return exitCode;
}

function whatIsKept({ subset, repair }: { readonly subset: unknown; readonly repair: boolean }): string {
  const repaired = repair ? ' Copies that were brought back stay.' : '';
  if (subset === null)
    return `What was found missing is noted.${repaired} The same command starts again from the beginning.`;
  return `What was read is noted for seven days: the same command goes on behind it.${repaired}`;
}

const OF_CHAIN = { from: '--from', to: '--to' };
const OF_BACKENDS = { readData: '--read-data', subset: '--subset', backend: '--backend', repair: '--repair' };

/** An option that would say nothing is refused: the answer would be taken for one to what was typed. */
function refuseIgnored(own: VerbOptions['own']): void {
  const isChain = own['chain'] === true;
  const ignored = Object.entries(isChain ? OF_BACKENDS : OF_CHAIN).filter(([name]) => own[name] !== undefined);
  if (ignored.length === 0) return;
  const flags = ignored.map(([, flag]) => flag).join(', ');
  throw new CliError(
    'cli/usage',
    isChain ? `With --chain, ${flags} would say nothing.` : `${flags} would say nothing without --chain.`,
    {
      retryable: false,
      hint: 'Type holdfast check --chain --from <height> for the chain, and holdfast check [--read-data] [--repair] for backends.',
    },
  );
}

/** Checked, an archive that was made on the spot would be in the best of order. */
function noFolder(folder: string): CliError {
  return new CliError('cli/no-folder', `There is no data folder ${folder}, so there is nothing to check.`, {
    details: { folder },
    retryable: false,
    hint: 'Set HOLDFAST_DATA_DIR to that of the archive; if it is lost, `holdfast rebuild` makes the catalog again first.',
  });
}
