import { resolve } from 'node:path';
import type { Command } from 'commander';
import { importEvent, importReport, lineOf, showReport, stateOf } from '../bundle/import-told.ts';
import { type CliContext, type ExitCode, print } from '../cli-context.ts';
import { describeCount } from '../describe.ts';
import { liveLines } from '../live-lines.ts';
import { runJob } from '../run-job.ts';
import type { VerbOptions } from '../verb-options.ts';

export function define(command: Command): Command {
  return command.argument(
    '<source...>',
    'files, folders, tarballs (also .tar.gz), bundles, http(s) addresses or s3=<bucket>[/<key or prefix>][?backend=<id>]: blobs under any name, raw or as hex text, and occurrence records',
  );
}

/**
 * Exit code 0: all that was given is held, and stored. 3: something is not usable, and is named. 1: something could not
 * be read, or did not come to be stored.
 */
export async function handle(options: VerbOptions, context: CliContext, given: readonly string[]): Promise<ExitCode> {
  const sources = given.map((source) => (isElsewhere(source) ? source : resolve(context.cwd, source)));
  const lines = options.json ? null : liveLines(context);
  let taken = 0;
  try {
    const { exitCode, ...report } = await runJob(
      { kind: 'import', parameters: { sources } },
      options,
      context,
      (event) => {
        if (options.json) print(context, JSON.stringify(event));
        const told = importEvent.safeParse(event).data;
        if (told === undefined) return;
        if (told.event === 'progress') taken = told.taken;
        const [line, state] = [lineOf(told), stateOf(told)];
        if (line !== null) lines?.line(line);
        if (state !== null) lines?.state(state);
      },
    );
    lines?.stop();
    if (options.json) print(context, JSON.stringify({ event: 'report', exitCode, ...report }));
    else for (const line of showReport(importReport.parse(report))) print(context, line);
    return exitCode;
  } catch (error) {
    lines?.stop();
    if (context.signal.aborted && taken > 0) {
      const kept = describeCount(taken, 'blob was', 'blobs were');
      context.stderr.write(`${kept} taken and kept. Type the same command to go on: they are passed over then.\n`);
    }
    throw error;
  }
}

/** An address or a bucket: not a path, whatever folder the user stands in. */
function isElsewhere(source: string): boolean {
  return /^https?:\/\//i.test(source) || source.startsWith('s3=');
}
