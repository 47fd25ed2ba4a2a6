import type { Command } from 'commander';
import { checkChain } from '../check/check-chain.ts';
import { parseSubset, showReport } from '../check/check-report.ts';
import { type CliContext, EXIT, type ExitCode, print, printJson } from '../cli-context.ts';
import { CliError } from '../errors.ts';
import { type VerbOptions, verb } from '../verb-options.ts';
import { withUpkeep } from '../with-upkeep.ts';

export function checkCommand(): Command {
  return verb('check', 'Compare every backend with the catalog, and the catalog with every backend.')
    .option('--read-data', 'also read every copy and hash it')
    .option('--subset <n/t>', 'with --read-data: only the n-th of t equal parts, like 3/30')
    .option('--backend <name>', 'only this one: local, s3, ipfs, or a name from the list of backends')
    .option('--chain', 'instead: is everything that is on chain stored?')
    .option('--from <height>', 'with --chain: the first height (default: where the walk began)')
    .option('--to <height>', 'with --chain: the last height (default: as far as was walked)')
    .option('--repair', 'replace what is missing or damaged from good copies');
}

/** Exit code 3: something is missing or damaged, and it is listed. 1: a backend could not be asked. */
export async function check(options: VerbOptions, context: CliContext): Promise<ExitCode> {
  const { own, json } = options;
  if (own['chain'] === true) return await checkChain(options, context);
  const subset = typeof own['subset'] === 'string' ? parseSubset(own['subset']) : { index: 1, of: 1 };
  const backend = typeof own['backend'] === 'string' ? own['backend'] : null;
  const readData = own['readData'] === true || typeof own['subset'] === 'string';
  const report = await withUpkeep(options, context, async (upkeep) => {
    if (backend !== null && !upkeep.places.includes(backend)) {
      throw new CliError('cli/usage', `No backend is named ${backend}.`, {
        retryable: false,
        hint: `Name one of ${upkeep.places.join(', ')}.`,
      });
    }
    const progress = ({ backend: name, step, done, total }: Parameters<Parameters<typeof upkeep.check>[1]>[0]) => {
      if (!json) context.stderr.write(`${name}: ${step} ${done}${total === null ? '' : ` of ${total}`}\n`);
    };
    const asked = { subset: readData ? subset : null, backend, repair: own['repair'] === true };
    return await upkeep.check(asked, progress, context.signal);
  });
  if (json) printJson(context, report);
  else for (const line of showReport(report, own['repair'] === true)) print(context, line);
  if (report.backends.some(({ fault }) => fault !== null)) return EXIT.failed;
  return report.leftCount > 0 ? EXIT.missing : EXIT.done;
}
