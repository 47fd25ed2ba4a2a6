import type { Command } from 'commander';
import { showConfig } from '../../config/index.ts';
import { type CliContext, EXIT, type ExitCode, print, printJson } from '../cli-context.ts';
import { type VerbOptions, verb } from '../verb-options.ts';

export function configCommand(): Command {
  return verb('config', 'Show the effective configuration, secrets masked, and where each value comes from.');
}

export async function config({ config, json }: VerbOptions, context: CliContext): Promise<ExitCode> {
  const settings = showConfig(config);
  if (json) {
    printJson(context, { file: config.file, settings });
    return EXIT.done;
  }
  const width = Math.max(...settings.map(({ env }) => env.length));
  for (const { env, value, origin } of settings) {
    print(context, `${env.padEnd(width)}  ${value === null ? '(not set)' : String(value)}  (${origin})`);
  }
  return EXIT.done;
}
