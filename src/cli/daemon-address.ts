import { join, resolve } from 'node:path';
import type { Config } from '../config/index.ts';
import { announcedDaemon, type DaemonAddress, DataFolder } from '../storage/local/data-folder.ts';
import { CliError } from './errors.ts';

/** Where `run --dev` keeps everything when the chain is emulated. */
export function devFolder(dataDir: string): string {
  return join(dataDir, 'dev');
}

/** Where this command's archive can be: the data folder, and the development folder inside it. */
export function dataFolders(config: Config, cwd: string): string[] {
  const dataDir = resolve(cwd, config.values.dataDir);
  return [dataDir, devFolder(dataDir)];
}

/** The one of them that an archive was ever made in; a development archive lies inside of the folder. */
export function archiveFolder(config: Config, cwd: string): string {
  const [first = '', ...others] = dataFolders(config, cwd);
  return [first, ...others].find((folder) => DataFolder.exists(folder)) ?? first;
}

/** Where the daemon that runs on the data folder said it answers; null when none runs there. */
export async function runningDaemon(config: Config, cwd: string): Promise<string | null> {
  return (await announcedNear(config, cwd))?.url ?? null;
}

/** The address given, else that of the daemon on the data folder, else the configured one. */
export async function findDaemon(config: Config, cwd: string, given: string | undefined): Promise<string> {
  if (given !== undefined) {
    if (URL.canParse(given) && /^https?:/i.test(given)) return given.replace(/\/+$/, '');
    throw new CliError('cli/usage', '--url must be an http:// or https:// address.', {
      retryable: false,
      hint: 'Like --url http://127.0.0.1:8080.',
    });
  }
  const running = await runningDaemon(config, cwd);
  if (running !== null) return running;
  const { httpHost, httpPort } = config.values;
  return `http://${httpHost.includes(':') ? `[${httpHost}]` : httpHost}:${httpPort}`;
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
