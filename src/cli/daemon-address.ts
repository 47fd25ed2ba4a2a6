import { join, resolve } from 'node:path';
import type { Config } from '../config/index.ts';
import { announcedDaemon } from '../storage/local/data-folder.ts';

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
  const dataDir = resolve(cwd, config.values.dataDir);
  for (const folder of [dataDir, devFolder(dataDir)]) {
    const announced = await announcedDaemon(folder);
    if (announced !== null) return announced.url;
  }
  const { httpHost, httpPort } = config.values;
  return `http://${httpHost.includes(':') ? `[${httpHost}]` : httpHost}:${httpPort}`;
}
