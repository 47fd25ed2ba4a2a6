import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../config/index.ts';
import { clauseOf } from '../core/blob/errors.ts';
import { announcedDaemon, type DaemonAddress, DataFolder } from '../storage/local/data-folder.ts';
import { CliError } from './errors.ts';

/** Folder of `run --dev` for an emulated chain. */
export function devFolder(dataDir: string): string {
  return join(dataDir, 'dev');
}

/** Folders in which this command's archive may be: the data folder, and the development folder inside it. */
export function dataFolders(config: Config, cwd: string): string[] {
  const dataDir = resolve(cwd, config.values.dataDir);
  return [dataDir, devFolder(dataDir)];
}

/** The one of them that an archive was ever made in; a development archive lies inside of the folder. */
export function archiveFolder(config: Config, cwd: string): string {
  const [first = '', ...others] = dataFolders(config, cwd);
  return [first, ...others].find((folder) => DataFolder.exists(folder)) ?? first;
}

/** Address of a daemon. */
export interface DaemonTarget {
  /** Without a slash at the end; where there is a socket, only for people. */
  readonly url: string;
  /** Path of its local socket, which needs no token. null: the command uses the port. */
  readonly socket: string | null;
  readonly token: string | null;
  /** There is a token, and it is not sent: nothing proves who listens at this address. */
  readonly keepsToken: boolean;
}

/** An address at which a daemon may answer. */
export interface FoundAddress {
  readonly url: string;
  readonly socket: string | null;
  /** The daemon there holds the lock of the data folder, or the certificate of the address is looked at. */
  readonly isProven: boolean;
}

/** The command line's choice of a daemon. */
export interface GivenTarget {
  readonly url: string | undefined;
  readonly tokenFile: string | undefined;
}

/** `--url` and `--token-file`, for every command that asks a daemon. */
export function addTargetOptions(command: Command): Command {
  return command
    .option('--url <address>', 'address of the daemon (default: the one that runs on the data folder)')
    .option('--token-file <file>', 'file with the token that it takes (or HOLDFAST_TOKEN)');
}

export function givenTarget({ url, tokenFile }: Readonly<Record<string, string | boolean>>): GivenTarget {
  const asText = (value: string | boolean | undefined) => (typeof value === 'string' ? value : undefined);
  return { url: asText(url), tokenFile: asText(tokenFile) };
}

/** The daemon that runs on the data folder, as it announced itself; null when none runs there. */
export async function runningDaemon(config: Config, cwd: string): Promise<DaemonAddress | null> {
  return await announcedNear(config, cwd);
}

/** The address given, else the daemon on the data folder by its socket, else the configured address. */
export async function findAddress(config: Config, cwd: string, url: string | undefined): Promise<FoundAddress> {
  const running = await announcedNear(config, cwd);
  if (url !== undefined) {
    const typed = checkedUrl(url);
    return { url: typed, socket: null, isProven: typed === running?.url || /^https:/i.test(typed) };
  }
  if (running !== null) return { url: running.url, socket: running.adminSocket, isProven: true };
  const { httpHost, httpPort } = config.values;
  const host = httpHost.includes(':') ? `[${httpHost}]` : httpHost;
  return { url: `http://${host}:${httpPort}`, socket: null, isProven: false };
}

/**
 * The same, with the token that the daemon takes. While no daemon runs on the data folder, anybody on this machine may
 * listen at the configured address, or at one that was typed. A token goes to an address that nothing proves only when both
 * the address and the token's file were typed.
 * @throws CliError `cli/no-daemon`
 */
export async function findDaemon(config: Config, cwd: string, given: GivenTarget): Promise<DaemonTarget> {
  const token = given.tokenFile === undefined ? config.values.token : readToken(resolve(cwd, given.tokenFile));
  const { url, socket, isProven } = await findAddress(config, cwd, given.url);
  if (isProven || token === null) return { url, socket, token, keepsToken: false };
  if (given.url !== undefined) {
    const isTyped = given.tokenFile !== undefined;
    return { url, socket, token: isTyped ? token : null, keepsToken: !isTyped };
  }
  const folders = dataFolders(config, cwd);
  throw new CliError(
    'cli/no-daemon',
    `No daemon runs on ${folders[0]}. Another program may listen at ${url}, and would be sent the token. Nothing was sent.`,
    {
      details: { folders, url },
      retryable: true,
      hint: `Start the daemon with \`holdfast run\`, or type --url ${url} and --token-file if what listens there may have the token.`,
    },
  );
}

function checkedUrl(given: string): string {
  if (URL.canParse(given) && /^https?:/i.test(given)) return given.replace(/\/+$/, '');
  throw new CliError('cli/usage', '--url must be an http:// or https:// address.', {
    retryable: false,
    hint: 'Like --url http://127.0.0.1:8080.',
  });
}

function readToken(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new CliError('cli/usage', `The token cannot be read: ${clauseOf(cause)}.`, {
      details: { file },
      retryable: false,
      hint: 'Name a readable file with --token-file, or set HOLDFAST_TOKEN.',
      cause,
    });
  }
}

/** The emulated node of a development daemon that runs on the data folder; null when there is none. */
export async function findEmulatedNode(config: Config, cwd: string): Promise<string | null> {
  return (await announcedNear(config, cwd))?.emulatedNode ?? null;
}

async function announcedNear(config: Config, cwd: string): Promise<DaemonAddress | null> {
  for (const folder of dataFolders(config, cwd)) {
    const announced = await announcedDaemon(folder);
    if (announced !== null) return announced;
  }
  return null;
}
