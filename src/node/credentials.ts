import { readFile, stat } from 'node:fs/promises';
import { codeOf } from '../core/blob/errors.ts';
import type { Clock } from '../core/time/clock.ts';
import type { BasicCredentials } from './endpoint.ts';
import { NodeError } from './errors.ts';

/** Source of the `authorization` header, which may have a newer value after a 401. */
export interface CredentialSource {
  current(): string | null | Promise<string | null>;
  /** Reads the credentials again. Resolves to true when the value now differs from `refused`. */
  renew(refused: string | null): Promise<boolean>;
}

/** The getters of `credentials` run on each call, so a caller can replace the password while the client is in use. */
export function basicCredentials(credentials: BasicCredentials | null): CredentialSource {
  const header = () => (credentials === null ? null : basic(`${credentials.user}:${credentials.password}`));
  return { current: header, renew: async (refused) => header() !== refused };
}

/**
 * Shortest interval in milliseconds between two reads of the cookie file. The node writes a new cookie at each start.
 */
const LOOK_AGAIN_MS = 1_000;
const MAX_COOKIE_BYTES = 4_096;

/** Credentials from the node's cookie file, which contains `user:password`. */
export function cookieFile(path: string, clock: Pick<Clock, 'steadyMs'>): CredentialSource {
  let known: { readonly header: string; readonly stamp: string } | null = null;
  let lookedAt = Number.NEGATIVE_INFINITY;

  async function read(): Promise<string> {
    try {
      const stamp = await stampOf(path);
      if (known?.stamp === stamp) return known.header;
      const text = (await readFile(path, 'utf8')).trim();
      if (!text.includes(':') || text.length > MAX_COOKIE_BYTES) throw new Error('It does not hold user:password.');
      known = { header: basic(text), stamp };
      return known.header;
    } catch (error) {
      throw unreadable(path, error);
    } finally {
      lookedAt = clock.steadyMs();
    }
  }

  return {
    current: () => (known !== null && clock.steadyMs() - lookedAt < LOOK_AGAIN_MS ? known.header : read()),
    async renew(refused) {
      known = null;
      return (await read()) !== refused;
    },
  };
}

async function stampOf(path: string): Promise<string> {
  const { ino, size, mtimeMs, ctimeMs } = await stat(path);
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}

function unreadable(path: string, error: unknown): NodeError {
  const reason = codeOf(error) ?? 'it does not hold user:password';
  return new NodeError('node/unauthorized', `The node's cookie file ${path} cannot be used: ${reason}.`, {
    details: { path, reason },
    retryable: true,
    hint: 'The node writes this file at its start. Set the right path, and let this user read it.',
  });
}

function basic(pair: string): string {
  return `Basic ${Buffer.from(pair, 'utf8').toString('base64')}`;
}
