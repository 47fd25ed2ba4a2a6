import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createHttpApp } from './app.ts';
import { DEFAULT_HTTP_LIMITS, type HttpOptions } from './config.ts';
import { localSocketError } from './errors.ts';
import type { Route } from './route.ts';
import type { CloseOutcome } from './server.ts';

export interface LocalServer {
  /**
   * Opens `admin.sock` in the folder, which the caller has locked. A socket that is there is of one that was killed. It opens
   * one in a folder for temporary files where the path is too long for a socket, or the file system has none. Gives its path. Throws `HttpError` `http/no-local-socket`.
   */
  listen(folder: string): Promise<string>;
  /** The address, as of the server of a port. */
  close(): Promise<CloseOutcome>;
}

/** `sun_path` of macOS, the shortest there is, without its zero at the end. Linux has four bytes more. */
const MAX_PATH_BYTES = 103;
/** One that no other user may connect to. */
const OWNER_ONLY = 0o177;
/** Operators are few. */
const ANSWER_BYTES = 64 * 1_048_576;

/** Serves the same routes to the other commands on this machine: no caller is asked for a token. */
export async function createLocalServer(
  routes: readonly Route[],
  options: Omit<HttpOptions, 'host' | 'port'>,
): Promise<LocalServer> {
  const limits = { ...options.limits, answerBytes: ANSWER_BYTES, ratePerSecond: 0, concurrentPerClient: 0 };
  const { fastify, connections } = createHttpApp(routes, { ...options, limits, isLocal: true, host: '', port: 0 });
  await fastify.ready();
  const { drainMs } = { ...DEFAULT_HTTP_LIMITS, ...options.limits };
  const { server } = fastify;
  let temporary: string | null = null;
  let closing: Promise<CloseOutcome> | null = null;

  async function open(path: string): Promise<string> {
    await rm(path, { force: true });
    const listening = once(server, 'listening');
    // The file is made in the call: nothing else of this process can make one meanwhile.
    const before = process.umask(OWNER_ONLY);
    try {
      server.listen(path);
    } finally {
      process.umask(before);
    }
    await listening;
    return path;
  }

  async function openElsewhere(): Promise<string> {
    temporary = await mkdtemp(join(tmpdir(), 'holdfast-'));
    return await open(join(temporary, 'admin.sock'));
  }

  async function close(): Promise<CloseOutcome> {
    const closed = fastify.close();
    const cutRequests = await connections.drain(drainMs);
    await closed;
    if (temporary !== null) await rm(temporary, { recursive: true, force: true });
    return { cutRequests };
  }

  return {
    async listen(folder) {
      const near = join(folder, 'admin.sock');
      try {
        const fits = Buffer.byteLength(near) <= MAX_PATH_BYTES;
        const path = fits ? await open(near).catch(openElsewhere) : await openElsewhere();
        server.on('error', (error) => options.onServerError(error, null));
        return path;
      } catch (error) {
        throw localSocketError(temporary === null ? near : dirname(temporary), error);
      }
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}
