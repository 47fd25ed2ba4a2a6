import { type Command, Option } from 'commander';
import { z } from 'zod';
import { type Config, loadConfig, SETTING_NAMES, SETTINGS } from '../config/index.ts';
import type { CliContext } from './cli-context.ts';

const parsed = z.record(z.string(), z.union([z.string(), z.boolean()]));

/** Adds what every verb has: `--json`, `--config`, and a flag for each setting that is no secret, listed or not. */
export function addCommonOptions(command: Command, listsSettings: boolean): void {
  command.addOption(new Option('--json', 'print JSON for programs'));
  command.addOption(new Option('--config <file>', 'configuration file, YAML or JSON (HOLDFAST_CONFIG)'));
  for (const setting of SETTING_NAMES) {
    const { flag, says: description, env, fallback } = SETTINGS[setting];
    if (flag === null) continue;
    const shown = fallback === null ? env : `${env}, default ${fallback}`;
    const option = new Option(`${flag} <value>`, `${description} (${shown})`).helpGroup('Settings:');
    command.addOption(option.hideHelp(!listsSettings));
  }
  if (!listsSettings) {
    command.addHelpText(
      'after',
      '\nEvery setting is a flag too, like --data-dir <value>: `holdfast config --help` lists them.',
    );
  }
}

export interface VerbOptions {
  readonly json: boolean;
  readonly config: Config;
  /** Reads environment, file and flags once more, with more environment. @throws ConfigError */
  reread(more?: Readonly<Record<string, string>>): Config;
  /** The verb's own options, by their camel-case names. */
  readonly own: Readonly<Record<string, string | boolean>>;
}

/** Decodes what commander read, and loads the configuration with the flags on top. */
export function readOptions(command: Command, context: CliContext): VerbOptions {
  const given = parsed.parse(command.opts());
  const flags: Record<string, string> = {};
  for (const setting of SETTING_NAMES) {
    const { flag } = SETTINGS[setting];
    if (flag === null) continue;
    const value = given[attributeName(flag)];
    if (typeof value === 'string') flags[flag] = value;
  }
  const file = given['config'];
  const path = typeof file === 'string' ? file : undefined;
  const reread: VerbOptions['reread'] = (more = {}) =>
    loadConfig({ env: { ...context.env, ...more }, flags, file: path, cwd: context.cwd });
  return { json: given['json'] === true, config: reread(), reread, own: given };
}

function attributeName(flag: string): string {
  return new Option(flag).attributeName();
}
