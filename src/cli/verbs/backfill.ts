import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { backfillEvent, backfillReport } from '../backfill/backfill-events.ts';
import { startProgress } from '../backfill/backfill-progress.ts';
import { showReport } from '../backfill/show-report.ts';
import { type CliContext, type ExitCode, print } from '../cli-context.ts';
import { runningDaemon } from '../daemon-address.ts';
import { CliError } from '../errors.ts';
import { keeping } from '../interrupted.ts';
import { again, givenWords } from '../repeated-option.ts';
import { runJob } from '../run-job.ts';
import type { VerbOptions } from '../verb-options.ts';

/** Kinds of sources that say where, in the same word or in the next. */
const KINDS = new Set(['peer', 's3', 'dir']);

const KEPT = 'What was fetched and verified stays: the same command asks only for what is still missing.';

export function define(command: Command): Command {
  return command
    .option('--from-height <height>', 'first block (default: where the walk began; below it, history is walked)')
    .option('--to-height <height>', 'last block (default: the tip)')
    .addOption(
      new Option(
        '--source <words...>',
        'node · peer=<url> · s3=<bucket>[/<prefix>][?layout=sentinel&backend=<id>] · dir=<path>; may be given several times, and is asked in that order (default: node)',
      ).argParser(again),
    )
    .option('--requests <n>', 'blobs under way at a time, 1 to 16 (default: 8)')
    .option('--bytes-per-second <n>', 'bytes a second that are fetched at most')
    .option('--dry-run', 'only say what would be fetched, from where, and how much that is');
}

/**
 * Exit code 0: everything in the range is stored; 3: every source was asked, and missing contents are listed. 1: a
 * source could not be asked, or content was not stored in the end.
 */
export async function handle(options: VerbOptions, context: CliContext): Promise<ExitCode> {
  const { own, json, config } = options;
  const parameters = {
    fromHeight: wholeNumber(own['fromHeight'], '--from-height'),
    toHeight: wholeNumber(own['toHeight'], '--to-height'),
    sources: sourcesOf(own['source'], context.cwd),
    dryRun: own['dryRun'] === true,
    requests: wholeNumber(own['requests'], '--requests') ?? undefined,
    bytesPerSecond: wholeNumber(own['bytesPerSecond'], '--bytes-per-second'),
  };
  if (config.values.nodeUrl === null && (await runningDaemon(config, context.cwd)) === null) throw noNode();
  const progress = startProgress(context, json);
  try {
    const asked = { kind: 'backfill', parameters, needsNode: true };
    const work = runJob(asked, options, context, (event) => {
      const told = backfillEvent.safeParse(event);
      if (json) print(context, JSON.stringify(event));
      else if (told.success) progress.tell(told.data);
    });
    const { exitCode, ...report } = await keeping(context, work, () => KEPT);
    progress.stop();
    if (json) print(context, JSON.stringify({ event: 'report', exitCode, ...report }));
    else for (const line of showReport(backfillReport.parse(report))) print(context, line);
    return exitCode;
  } finally {
    progress.stop();
  }
}

function sourcesOf(given: string | boolean | undefined, cwd: string): string[] {
  // The daemon may stand in another folder than the user.
  return inOneWord(givenWords(given)).map((text) =>
    text.startsWith('dir=') ? `dir=${resolve(cwd, text.slice(4))}` : text,
  );
}

/** `peer https://archive.example` is typed as well, and means `peer=https://archive.example`. */
function inOneWord([word, next, ...rest]: readonly string[]): string[] {
  if (word === undefined) return [];
  if (next !== undefined && KINDS.has(word)) return [`${word}=${next}`, ...inOneWord(rest)];
  return [word, ...inOneWord(next === undefined ? [] : [next, ...rest])];
}

function wholeNumber(given: string | boolean | undefined, flag: string): number | null {
  if (given === undefined) return null;
  if (typeof given === 'string' && /^\d{1,15}$/.test(given)) return Number(given);
  throw new CliError('cli/usage', `${flag} takes a whole number.`, {
    retryable: false,
    hint: 'Like --from-height 1800000 --to-height 1900000 --requests 8 --bytes-per-second 10000000.',
  });
}

function noNode(): CliError {
  return new CliError('cli/no-node', 'No node address is configured, and no daemon runs on the data folder.', {
    retryable: false,
    hint: 'The chain says what is missing: set HOLDFAST_NODE_URL=http://user:password@host:port.',
  });
}
