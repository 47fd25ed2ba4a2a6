import type { Command } from 'commander';
import { z } from 'zod';
import { type CliContext, type ExitCode, print, printJson } from '../cli-context.ts';
import { keeping } from '../interrupted.ts';
import { stepProgress } from '../progress.ts';
import { runJob } from '../run-job.ts';
import type { VerbOptions } from '../verb-options.ts';

export function define(command: Command): Command {
  return command.option(
    '--from <backend>',
    'only from this backend (and the data folder); without it, from all of them',
  );
}

/** A daemon goes on with it only where the catalog is new: over one that was whole before, it looks for nothing. */
const KEPT = 'The blobs that were found are in the catalog: the same command goes on with the others.';

const rebuildProgress = z.object({
  event: z.literal('progress'),
  message: z.string(),
  place: z.string().nullable(),
  done: z.number().nullable(),
});

const rebuildReport = z.object({
  folder: z.number(),
  backends: z.record(z.string(), z.object({ adopted: z.number(), damaged: z.number() })),
  custom: z.record(z.string(), z.object({ adopted: z.number(), damaged: z.number() })),
  faults: z.record(z.string(), z.string()),
});

/** Every blob is read and hashed; what is found is kept as not placed yet, until the chain places it. */
export async function handle(options: VerbOptions, context: CliContext): Promise<ExitCode> {
  const from = typeof options.own['from'] === 'string' ? options.own['from'] : null;
  const asked = { kind: 'rebuild', parameters: { from } };
  const progress = stepProgress(context);
  const work = runJob(asked, options, context, (event) => {
    const told = rebuildProgress.safeParse(event).data;
    if (options.json || told === undefined) return;
    const { message, place, done } = told;
    if (place === null || done === null) context.stderr.write(`${message}\n`);
    else progress.tell({ label: `${place}: blobs`, done, total: null, line: message });
  });
  const { exitCode, report } = await keeping(context, work, () => KEPT).finally(progress.stop);
  if (options.json) {
    printJson(context, report);
    return exitCode;
  }
  const { folder, backends, custom, faults } = rebuildReport.parse(report);
  print(context, `the data folder: ${folder} blobs`);
  for (const [backend, { adopted, damaged }] of Object.entries(backends)) {
    print(context, `${backend}: ${adopted} blobs that the catalog had not got, ${damaged} not what their names say`);
  }
  for (const [place, { adopted, damaged }] of Object.entries(custom)) {
    if (adopted + damaged > 0)
      print(context, `${place}: ${adopted} custom commitments found, ${damaged} not what their names say`);
  }
  for (const [backend, fault] of Object.entries(faults)) {
    if (from === null || backend === from) print(context, `${backend}: could not be asked: ${fault}`);
  }
  print(context, 'Next: holdfast check --repair, or holdfast run, which fills every backend by itself');
  return exitCode;
}
