import { join, resolve } from 'node:path';
import type { Config } from '../config/index.ts';
import { announcedDaemon, type DaemonAddress } from '../storage/local/data-folder.ts';

/** Where `run --dev` keeps everything when the chain is emulated. */
export function devFolder(dataDir: string): string {
  return join(dataDir, 'dev');
}

/**
 * Where the running daemon answers: what it announced in its data folder, else in the development folder inside it,
 * else the configured address.
 */
export async function findDaemon(config: Config, cwd: string, given: string | undefined): Promise<string> {
  if (given !== undefined) return given.replace(/\/+$/, '');
  const announced = await announcedNear(config, cwd);
  if (announced !== null) return announced.url;
  const { httpHost, httpPort } = config.values;
  return `http://${httpHost.includes(':') ? `[${httpHost}]` : httpHost}:${httpPort}`;
}

/** The emulated node of a development daemon that runs on the data folder; null when there is none. */
export async function findEmulatedNode(config: Config, cwd: string): Promise<string | null> {
  return (await announcedNear(config, cwd))?.emulatedNode ?? null;
}

async function announcedNear(config: Config, cwd: string): Promise<DaemonAddress | null> {
  const dataDir = resolve(cwd, config.values.dataDir);
  return (await announcedDaemon(dataDir)) ?? (await announcedDaemon(devFolder(dataDir)));
}
