import { resolve } from 'node:path';
import type { Command } from 'commander';
import { createDevnode } from '../../devnode/index.ts';
import { DIALECTS, type Dialect } from '../../node/method-table.ts';
import { DataFolder } from '../../storage/local/data-folder.ts';
import { type CliContext, type ExitCode, interruptedCode, print } from '../cli-context.ts';
import { CliError } from '../errors.ts';
import type { VerbOptions } from '../verb-options.ts';

export function define(command: Command): Command {
  return command
    .option('--port <number>', 'port to listen on; 0 takes a free one', '18370')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--blocks-every <duration>', 'a block every so often, like 2s or 500ms; `never` leaves it to callers', '3s')
    .option('--dialect <name>', `one of ${DIALECTS.join(', ')}`, 'syscoin-5')
    .option('--seed <text>', 'the whole chain follows from it', 'devnode')
    .option('--persist <folder>', 'keep the chain here and resume it')
    .option('--username <name>', 'user name that clients must give', 'devnode')
    .option('--password <word>', 'password that clients must give', 'devnode')
    .option('--admin-port <number>', 'port for faults, blocks, time and reorganisations on demand; 0 takes a free one')
    .option('--no-workload', 'no blobs by themselves')
    .option('--recorded-blobs', 'begin with the 22 contents of a recorded real chain');
}

export async function handle({ own, json }: VerbOptions, context: CliContext): Promise<ExitCode> {
  const text = (name: string): string | null => (typeof own[name] === 'string' ? own[name] : null);
  const folder = text('persist');
  const adminPort = text('adminPort');
  // One process mines on a chain: two would write one journal.
  const claimed = folder === null ? null : await DataFolder.claim(resolve(context.cwd, folder));
  const node = await createDevnode({
    host: text('host') ?? '127.0.0.1',
    port: parsePort('--port', text('port') ?? ''),
    adminPort: adminPort === null ? null : parsePort('--admin-port', adminPort),
    blocksEveryMs: parseDuration(text('blocksEvery') ?? ''),
    dialect: parseDialect(text('dialect') ?? ''),
    seed: text('seed') ?? 'devnode',
    username: text('username') ?? 'devnode',
    password: text('password') ?? 'devnode',
    dataDir: folder === null ? null : resolve(context.cwd, folder),
    seedRecordedBlobs: own['recordedBlobs'] === true,
    ...(own['workload'] === false ? { workload: null } : {}),
  });
  try {
    const address = node.url.replace('//', `//${node.username}:${node.password}@`);
    if (json) print(context, JSON.stringify({ url: address, adminUrl: node.adminUrl, dialect: node.dialect }));
    else {
      print(context, `emulated node (${node.dialect}) at ${address}`);
      if (node.adminUrl !== null) print(context, `faults, blocks and time on demand at ${node.adminUrl}`);
      print(context, `archive it with: HOLDFAST_NODE_URL=${address} npm start`);
    }
    if (!context.signal.aborted) await new Promise((wake) => context.signal.addEventListener('abort', wake));
  } finally {
    await node.close();
    await claimed?.release();
  }
  return interruptedCode(context.signal);
}

function parsePort(flag: string, text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw usage(`${flag} must be a whole number from 0 to 65535, not ${text}.`);
}

function parseDialect(text: string): Dialect {
  const found = DIALECTS.find((dialect) => dialect === text);
  if (found !== undefined) return found;
  throw usage(`--dialect must be one of ${DIALECTS.join(', ')}, not ${text}.`);
}

function parseDuration(text: string): number | null {
  if (text === 'never') return null;
  const match = /^(\d{1,6})(ms|s|m)$/.exec(text);
  const unit = { ms: 1, s: 1_000, m: 60_000 }[match?.[2] ?? ''];
  const milliseconds = unit === undefined ? 0 : Number(match?.[1]) * unit;
  if (milliseconds > 0) return milliseconds;
  throw usage(`--blocks-every must be like 2s, 500ms or 1m (or never), not ${text}.`);
}

function usage(message: string): CliError {
  return new CliError('cli/usage', message, { retryable: false, hint: 'See `holdfast devnode --help`.' });
}
