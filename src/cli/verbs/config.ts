import type { Command } from 'commander';
import { showConfig } from '../../config/index.ts';
import { type CliContext, EXIT, type ExitCode, print, printJson } from '../cli-context.ts';
import type { VerbOptions } from '../verb-options.ts';

export function define(command: Command): Command {
  return command;
}

export async function handle({ config, json }: VerbOptions, context: CliContext): Promise<ExitCode> {
  const settings = showConfig(config);
  if (json) {
    printJson(context, { file: config.file, settings });
    return EXIT.done;
  }
  const width = Math.max(...settings.map(({ env, key }) => (env ?? key).length));
  for (const { env, key, value, origin } of settings) {
    const shown = value === null ? '(not set)' : typeof value === 'object' ? JSON.stringify(value) : String(value);
    print(context, `${(env ?? key).padEnd(width)}  ${shown}  (${origin})`);
  }
  return EXIT.done;
}
