import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type Config, SETTING_NAMES, SETTINGS, type SettingValues } from '../../config/index.ts';
import { codeOf, HoldfastError, messageOf } from '../../core/blob/errors.ts';
import { getBlockchainInfo } from '../../node/index.ts';
import { type CliContext, EXIT, type ExitCode, print, printJson } from '../cli-context.ts';
import { configuredNode } from '../configured-node.ts';
import { CliError } from '../errors.ts';
import type { VerbOptions } from '../verb-options.ts';
import { chosenSettings, writtenConfig } from '../written-config.ts';

interface Probed {
  readonly place: string;
  readonly isGood: boolean;
  readonly sentence: string;
  readonly hint: string | null;
}

export function define(command: Command): Command {
  return command
    .option('--output <file>', 'the file that is written', 'holdfast.yaml')
    .option('--force', 'write it over an existing file')
    .addHelpText(
      'after',
      `
Asks on a terminal when no node address is given; else takes settings from flags and the environment. Then it asks the node,
and writes and reads something small at every backend. Passwords come from the environment (HOLDFAST_NODE_PASSWORD,
HOLDFAST_S3_SECRET_ACCESS_KEY, or their _FILE) or from a question, and are not written.

  HOLDFAST_NODE_PASSWORD_FILE=/run/secrets/node holdfast init --node-url http://node:8370 --node-user holdfast --s3-bucket blobs

Exit codes: 0 everything answered; 1 something did not, and is named, though the file is written; 2 the file is there already; 130 interrupted.`,
    );
}

export async function handle(options: VerbOptions, context: CliContext): Promise<ExitCode> {
  const { own, json } = options;
  if (options.config.file !== null)
    throw usage('A configuration file is given already.', 'Leave --config and HOLDFAST_CONFIG out.');
  const file = resolve(context.cwd, String(own['output']));
  const isForced = own['force'] === true;
  const config =
    options.config.values.nodeUrl === null ? await askFor(options, context, isForced ? null : file) : options.config;
  if (config === null) {
    context.stderr.write('holdfast: interrupted; no file was written. holdfast init begins again.\n');
    return EXIT.interrupted;
  }
  const probed = [
    await probeNode(config.values, context.signal),
    ...(await probePlaces(config.values, context.signal)),
  ];
  await write(file, writtenConfig(chosenSettings(config)), isForced);
  if (json) printJson(context, { file, probed });
  else tell({ file, probed, secrets: secretsOf(config) }, context);
  return probed.every(({ isGood }) => isGood) ? EXIT.done : EXIT.failed;
}

/** Asks on a terminal. null: the person left. `file`: what must not be there yet. */
async function askFor(
  { config, json, reread }: VerbOptions,
  context: CliContext,
  file: string | null,
): Promise<Config | null> {
  const { stdin, stdout } = context;
  if (json || stdout.isTTY !== true || stdin?.isTTY !== true) {
    throw usage(
      'The address of the node is missing.',
      'Add --node-url http://<host>:<port>, or type the command on a terminal, where it asks.',
    );
  }
  if (file !== null && existsSync(file)) throw isThere(file);
  const { InitQuestions, LeftQuestions } = await import('../init/init-questions.ts');
  try {
    return reread(await new InitQuestions(config, context, stdin).ask());
  } catch (error) {
    if (error instanceof LeftQuestions) return null;
    throw error;
  }
}

/** Variables of the secrets that were given: the file has none of them. */
function secretsOf({ origins }: Config): string[] {
  return SETTING_NAMES.filter((name) => SETTINGS[name].secret === true && origins[name] === 'environment').flatMap(
    (name) => SETTINGS[name].env ?? [],
  );
}

async function probeNode(settings: SettingValues, signal: AbortSignal): Promise<Probed> {
  const client = configuredNode(settings);
  if (client === null) throw new TypeError('a node address was configured');
  try {
    const { chain, height } = await getBlockchainInfo(client, { signal });
    return { place: 'node', isGood: true, sentence: `It answers: chain ${chain}, height ${height}.`, hint: null };
  } catch (error) {
    signal.throwIfAborted();
    const hint = error instanceof HoldfastError ? error.hint : null;
    return { place: 'node', isGood: false, sentence: messageOf(error), hint };
  } finally {
    await client.close();
  }
}

async function probePlaces(settings: SettingValues, signal: AbortSignal): Promise<Probed[]> {
  const { probeBackends } = await import('../../app/probe-backends.ts');
  const probed = await probeBackends(settings, signal);
  return probed.flatMap(({ id, findings }) =>
    findings.map(({ grade, sentence, hint }) => ({ place: id, isGood: grade !== 'fault', sentence, hint })),
  );
}

async function write(file: string, text: string, isForced: boolean): Promise<void> {
  try {
    await writeFile(file, text, { flag: isForced ? 'w' : 'wx', mode: 0o600 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    throw isThere(file);
  }
}

function isThere(file: string): CliError {
  return usage(`${file} is there already.`, 'Name another file with --output, or write it over with --force.');
}

interface Made {
  readonly file: string;
  readonly probed: readonly Probed[];
  readonly secrets: readonly string[];
}

function tell({ file, probed, secrets }: Made, context: CliContext): void {
  for (const { place, isGood, sentence, hint } of probed) {
    print(context, `${isGood ? 'good ' : 'FAULT'}  ${place}: ${sentence}`);
    if (hint !== null) print(context, `       ${hint}`);
  }
  print(context, `wrote  ${file}`);
  for (const name of secrets)
    print(context, `secret ${name} is not in the file: set it, or ${name}_FILE, for the archiver`);
  print(context, `next   holdfast run --config ${file}`);
}

function usage(message: string, hint: string): CliError {
  return new CliError('cli/usage', message, { retryable: false, hint });
}
