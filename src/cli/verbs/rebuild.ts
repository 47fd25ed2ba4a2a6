import type { Command } from 'commander';
import { type CliContext, EXIT, type ExitCode, print, printJson } from '../cli-context.ts';
import { CliError } from '../errors.ts';
import { type VerbOptions, verb } from '../verb-options.ts';
import { withUpkeep } from '../with-upkeep.ts';

export function rebuildCommand(): Command {
  return verb('rebuild', 'Make the catalog again from the data folder and the backends.').option(
    '--from <backend>',
    'only from this backend (and the data folder); without it, from all of them',
  );
}

/** Every blob is read and hashed; what is found is kept as not placed yet, until the chain places it. */
export async function rebuild(options: VerbOptions, context: CliContext): Promise<ExitCode> {
  const from = typeof options.own['from'] === 'string' ? options.own['from'] : null;
  const report = await withUpkeep(options, context, async (upkeep) => {
    if (from !== null && !upkeep.places.includes(from)) {
      throw new CliError('cli/usage', `No backend is named ${from}.`, {
        retryable: false,
        hint: `Name one of ${upkeep.places.join(', ')}.`,
      });
    }
    const progress = (text: string) => {
      if (!options.json) context.stderr.write(`${text}\n`);
    };
    return await upkeep.rebuild(from, progress, context.signal);
  });
  const faults = Object.entries(report.faults).filter(([backend]) => from === null || backend === from);
  if (options.json) printJson(context, report);
  else {
    print(context, `the data folder: ${report.folder} blobs`);
    for (const [backend, { adopted, damaged }] of Object.entries(report.backends)) {
      print(context, `${backend}: ${adopted} blobs that the catalog had not got, ${damaged} not what their names say`);
    }
    for (const [backend, fault] of faults) print(context, `${backend}: could not be asked: ${fault}`);
    print(context, 'Next: holdfast check --repair, or holdfast run, which fills every backend by itself');
  }
  return faults.length > 0 ? EXIT.failed : EXIT.done;
}
