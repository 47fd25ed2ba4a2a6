import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { SettingValues } from '../../config/index.ts';
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
Takes settings from flags and the environment, asks the node, and writes and reads something small at every backend. Passwords
come from the environment (HOLDFAST_NODE_PASSWORD, HOLDFAST_S3_SECRET_ACCESS_KEY, or their _FILE) and are not written.

  HOLDFAST_NODE_PASSWORD_FILE=/run/secrets/node holdfast init --node-url http://node:8370 --node-user holdfast --s3-bucket blobs

Exit codes: 0 everything answered; 1 something did not, and is named, though the file is written; 2 the file is there already.`,
    );
}

export async function handle({ config, own, json }: VerbOptions, context: CliContext): Promise<ExitCode> {
  if (config.file !== null)
    throw usage('A configuration file is given already.', 'Leave --config and HOLDFAST_CONFIG out.');
  const { nodeUrl } = config.values;
  if (nodeUrl === null) throw usage('The address of the node is missing.', 'Add --node-url http://<host>:<port>.');
  const probed = [
    await probeNode(config.values, context.signal),
    ...(await probePlaces(config.values, context.signal)),
  ];
  const file = resolve(context.cwd, String(own['output']));
  await write(file, writtenConfig(chosenSettings(config)), own['force'] === true);
  if (json) printJson(context, { file, probed });
  else tell(file, probed, context);
  return probed.every(({ isGood }) => isGood) ? EXIT.done : EXIT.failed;
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
    throw usage(`${file} is there already.`, 'Name another file with --output, or write it over with --force.');
  }
}

function tell(file: string, probed: readonly Probed[], context: CliContext): void {
  for (const { place, isGood, sentence, hint } of probed) {
    print(context, `${isGood ? 'good ' : 'FAULT'}  ${place}: ${sentence}`);
    if (hint !== null) print(context, `       ${hint}`);
  }
  print(context, `wrote  ${file}`);
  print(context, `next   holdfast run --config ${file}`);
}

function usage(message: string, hint: string): CliError {
  return new CliError('cli/usage', message, { retryable: false, hint });
}
