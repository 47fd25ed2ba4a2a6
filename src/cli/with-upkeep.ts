import type { Upkeep } from '../archive/replicate/upkeep.ts';
import { openUpkeep } from '../daemon.ts';
import { createLogger } from '../observability/logger.ts';
import type { CliContext } from './cli-context.ts';
import { archiveFolder } from './daemon-address.ts';
import { humanLog } from './human-log.ts';
import type { VerbOptions } from './verb-options.ts';
import { VERSION } from './version.ts';

const ALIVE_MS = 60_000;

/**
 * Does something with an archive that does not run: takes the lock of its folder for as long as it takes. Where a daemon
 * runs, that is said (with its address), and nothing is done.
 */
export async function withUpkeep<T>(
  { config }: VerbOptions,
  context: CliContext,
  work: (upkeep: Upkeep) => Promise<T>,
): Promise<T> {
  const dataDir = archiveFolder(config, context.cwd);
  const settings = { ...config.values, dataDir };
  const log = createLogger(
    config.origins.logLevel === 'default' ? 'error' : settings.logLevel,
    humanLog(context.stderr),
  );
  const { upkeep, close } = await openUpkeep({ settings, version: VERSION, emulated: false, log });
  // The hashing thread keeps no process alive, and at times nothing else is under way.
  const alive = setInterval(() => {}, ALIVE_MS);
  try {
    return await work(upkeep);
  } finally {
    clearInterval(alive);
    await close();
  }
}
