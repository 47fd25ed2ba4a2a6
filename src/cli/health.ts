import { readFile } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';

/**
 * Asks the process of this machine whether it lives, for the image's HEALTHCHECK: exit code 0 when it answers 200 on
 * `/healthz`, else 1 with a line that says why. An engine runs this every thirty seconds, so it loads next to nothing: a
 * daemon writes its address into the data folder, and the configuration is read only where no such address is.
 */

const PATIENCE_MS = 5_000;

/** The address in the data folder; null where there is none that can be read. */
async function announced(dataDir: string | undefined): Promise<string | null> {
  try {
    const daemon: unknown = JSON.parse(await readFile(join(dataDir ?? '', 'daemon.json'), 'utf8'));
    const url = typeof daemon === 'object' && daemon !== null && 'url' in daemon ? daemon.url : null;
    return typeof url === 'string' && URL.canParse(url) ? url : null;
  } catch {
    // No file, or half of one: the configuration says where to ask.
    return null;
  }
}

async function configured(): Promise<string> {
  const { configuredUrl } = await import('./configured-url.ts');
  return await configuredUrl(process.env);
}

function statusOf(url: URL): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { signal: AbortSignal.timeout(PATIENCE_MS), agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    }).on('error', reject);
  });
}

try {
  const url = new URL('/healthz', (await announced(process.env['HOLDFAST_DATA_DIR'])) ?? (await configured()));
  // "Every address" is where to listen, not where to ask.
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  if (url.hostname === '[::]') url.hostname = '[::1]';
  const status = await statusOf(url);
  process.stdout.write(`${url} answers ${status}\n`);
  process.exitCode = status === 200 ? 0 : 1;
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
