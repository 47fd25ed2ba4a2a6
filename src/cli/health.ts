import { loadConfig } from '../config/index.ts';
import { findDaemon } from './daemon-address.ts';

/**
 * Asks the process of this machine whether it lives, for the image's HEALTHCHECK: exit code 0 when it answers 200 on
 * `/healthz`, else 1 with a line that says why. It listens where the data folder or the configuration says.
 */

const PATIENCE_MS = 5_000;

try {
  const config = loadConfig({ env: process.env, flags: {}, file: undefined, cwd: process.cwd() });
  const daemon = await findDaemon(config, process.cwd(), { url: undefined, tokenFile: undefined });
  const url = new URL('/healthz', daemon.url);
  // "Every address" is where to listen, not where to ask.
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  if (url.hostname === '[::]') url.hostname = '[::1]';
  const { status } = await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS) });
  process.stdout.write(`${url} answers ${status}\n`);
  process.exitCode = status === 200 ? 0 : 1;
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
