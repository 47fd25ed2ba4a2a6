import { resolve } from 'node:path';
import type { Command } from 'commander';
import { exportEvent, exportReport, lineOf, showReport, stateOf } from '../bundle/export-told.ts';
import { type CliContext, type ExitCode, print } from '../cli-context.ts';
import { describeBytes } from '../describe.ts';
import { CliError } from '../errors.ts';
import { keeping } from '../interrupted.ts';
import { liveLines } from '../live-lines.ts';
import { Rate } from '../progress.ts';
import { runJob } from '../run-job.ts';
import type { VerbOptions } from '../verb-options.ts';

export function define(command: Command): Command {
  return command
    .option('--from-height <height>', 'first block (default: where the walk began)')
    .option('--to-height <height>', 'last block (default: the highest final one)')
    .option('--output <file.car>', 'the file that is written; an unfinished one is continued')
    .option(
      '--to <place>',
      'instead: dir=<path> or s3=<bucket>[/<prefix>][?backend=<id>], in which the bundle gets the name of chain and range (default: dir=.)',
    );
}

/** Exit code 0: all that is final in the range is in the bundle. 3: something is not stored here, and is named. */
export async function handle(options: VerbOptions, context: CliContext): Promise<ExitCode> {
  const { own, json } = options;
  const parameters = {
    fromHeight: heightOf(own['fromHeight'], '--from-height'),
    toHeight: heightOf(own['toHeight'], '--to-height'),
    ...placeOf(own, context.cwd),
  };
  const lines = json ? null : liveLines(context);
  const rate = new Rate();
  let written: { file: string; doneBytes: number } | null = null;
  try {
    const work = runJob({ kind: 'export', parameters }, options, context, (event) => {
      if (json) print(context, JSON.stringify(event));
      const told = exportEvent.safeParse(event).data;
      if (told === undefined) return;
      if (told.event === 'progress') written = told;
      const [line, state] = [lineOf(told), stateOf(told, rate)];
      if (line !== null) lines?.line(line);
      if (state !== null) lines?.state(state);
    });
    const { exitCode, ...report } = await keeping(context, work, () => whatIsKept(written, parameters.bucket !== null));
    lines?.stop();
    if (json) print(context, JSON.stringify({ event: 'report', exitCode, ...report }));
    else for (const line of showReport(exportReport.parse(report))) print(context, line);
    return exitCode;
  } finally {
    lines?.stop();
  }
}

function whatIsKept(
  written: { readonly file: string; readonly doneBytes: number } | null,
  isInBucket: boolean,
): string {
  // An earlier run may have written a part of it.
  if (written === null) return 'The same command plans again, and goes on behind what is written already.';
  const { file } = written;
  const bytes = describeBytes(written.doneBytes);
  if (isInBucket)
    return `The bucket keeps ${bytes} in an unfinished upload of ${file}. Type the same command to go on.`;
  return `${file}.part holds at least ${bytes}. Type the same command to go on behind its last whole block.`;
}

interface Place {
  readonly file: string | null;
  readonly folder: string | null;
  readonly bucket: string | null;
}

const NOWHERE: Place = { file: null, folder: null, bucket: null };

function placeOf({ output, to }: VerbOptions['own'], cwd: string): Place {
  if (typeof output === 'string' && to === undefined) return { ...NOWHERE, file: resolve(cwd, output) };
  if (output === undefined && to === undefined) return { ...NOWHERE, folder: cwd };
  const [, kind, place = ''] = typeof to === 'string' ? (/^(dir|s3)=(.+)$/s.exec(to) ?? []) : [];
  if (output !== undefined || kind === undefined) throw usage('A bundle goes into one file, one folder or one bucket.');
  return kind === 's3' ? { ...NOWHERE, bucket: place } : { ...NOWHERE, folder: resolve(cwd, place) };
}

function heightOf(given: string | boolean | undefined, flag: string): number | null {
  if (given === undefined) return null;
  if (typeof given === 'string' && /^\d{1,10}$/.test(given)) return Number(given);
  throw usage(`${flag} takes a height.`);
}

function usage(message: string): CliError {
  return new CliError('cli/usage', message, {
    retryable: false,
    hint: 'Like holdfast export --from-height 1800000 --to-height 1900000 --output blobs.car, or --to dir=/mnt/bundles, or --to s3=bucket/bundles.',
  });
}
