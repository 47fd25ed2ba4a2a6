import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';

/**
 * Asks the process of this machine whether it lives, for the image's HEALTHCHECK: exit code 0 when it answers 200 on
 * `/healthz`, else 1 with a line that says why. An engine runs this every thirty seconds, so it loads next to nothing: a
 * daemon writes its address into the data folder, and the configuration is read only where no such address is. Of the answer
 * only the first line counts, so it is read from the socket: Node's own HTTP client takes twice the processor time and 16 MiB.
 */

const PATIENCE_MS = 5_000;
/** Characters of the status line, more than any server sends. */
const MAX_LINE = 1_000;

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

async function statusOf(url: URL): Promise<number> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const socket = connect({ host, port: Number(url.port || 80), signal: AbortSignal.timeout(PATIENCE_MS) });
  socket.setEncoding('latin1');
  socket.write(`GET ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nConnection: close\r\n\r\n`);
  let answer = '';
  for await (const part of socket) {
    answer += part;
    if (answer.includes('\n') || answer.length > MAX_LINE) break;
  }
  const [, status] = /^HTTP\/1\.\d (\d{3})\b/.exec(answer) ?? [];
  if (status === undefined) throw new Error(`${url} does not answer with HTTP`);
  return Number(status);
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
