import type { Command } from 'commander';
import { showConfig } from '../../config/index.ts';
import { type CliContext, EXIT, type ExitCode, print, printJson } from '../cli-context.ts';
import { textTable } from '../text-table.ts';
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
  // Values come last: one may be a list of any length.
  const rows = settings.map(({ env, key, value, origin }) => [env ?? key, origin, inWords(value)]);
  for (const line of textTable(['setting', 'from', 'value'], rows)) print(context, line);
  return EXIT.done;
}

function inWords(value: unknown): string {
  if (value === null) return '(not set)';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
