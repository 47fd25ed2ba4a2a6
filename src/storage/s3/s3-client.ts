import type { S3Client } from '@aws-sdk/client-s3';
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import type { Clock } from '../../core/time/clock.ts';
import { proxyIsNamed } from '../proxy-environment.ts';
import type { S3Credentials, S3Options } from './s3-options.ts';
import { WatchedHandler } from './watched-handler.ts';

/** Loaded when a backend is opened only: it costs a third of a second, and not every archiver has S3. */
export type Sdk = typeof import('@aws-sdk/client-s3');

export async function loadSdk(): Promise<Sdk> {
  return await import('@aws-sdk/client-s3');
}

/**
 * One more try, at once: for a kept-alive socket that the server closed, and for the SDK's own correction of a wrong
 * clock. Waiting and trying again for long belongs to the archive.
 */
const ATTEMPTS = 2;

const ABOUT_TO_EXPIRE_MS = 60_000;

/** The SDK remembers what it was given until it expires: what is about to expire is asked for each time. */
function credentialsOf(given: S3Credentials | (() => S3Credentials), clock: Clock) {
  if (typeof given !== 'function') return given;
  return async () => ({ ...given(), expiration: new Date(clock.wallMs() + ABOUT_TO_EXPIRE_MS) });
}

export interface S3Connection {
  readonly client: S3Client;
  readonly handler: WatchedHandler;
}

export async function createS3Client(sdk: Sdk, options: S3Options): Promise<S3Connection> {
  const { UndiciHttpHandler } = await import('@smithy/undici-http-handler');
  const handler = new WatchedHandler(new UndiciHttpHandler({ dispatcher: createDispatcher(options) }), options.clock);
  const client = new sdk.S3Client({
    region: options.region,
    forcePathStyle: options.addressing === 'path',
    ...(options.endpoint === null ? {} : { endpoint: options.endpoint }),
    ...(options.credentials === null ? {} : { credentials: credentialsOf(options.credentials, options.clock) }),
    maxAttempts: ATTEMPTS,
    // From 3.729 on the default sends checksums that some servers refuse; what arrives is hashed by ourselves.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // A bucket in another region is a sentence to the operator, not a silent detour.
    followRegionRedirects: false,
    requestHandler: handler,
  });
  client.middlewareStack.add(
    (next) => async (args) => {
      const { request } = args;
      if (isSignable(request)) request.headers[PAYLOAD_HASH] = 'UNSIGNED-PAYLOAD';
      return await next(args);
    },
    { step: 'build', name: 'holdfastUnsignedPayload' },
  );
  return { client, handler };
}

/**
 * Signing the body costs a SHA-256 of it here and another there. Answers are not signed, so that only the read-back can
 * tell that the right bytes arrived, and it does: with keccak256, after every write.
 */
const PAYLOAD_HASH = 'x-amz-content-sha256';

function isSignable(request: unknown): request is { headers: Record<string, string> } {
  if (typeof request !== 'object' || request === null || !('headers' in request)) return false;
  return typeof request.headers === 'object' && request.headers !== null;
}

/** A proxy is used where the environment names one; undici asks for it on every Node, Node's own agents from 24.5 on. */
function createDispatcher(options: S3Options): Dispatcher {
  const pool = {
    connections: options.connections,
    connectTimeout: options.connectTimeoutMs,
    headersTimeout: options.timeoutMs,
    bodyTimeout: options.timeoutMs,
    allowH2: false,
  };
  const url = new URL(options.endpoint ?? 'https://s3.amazonaws.com');
  return proxyIsNamed(url) ? new EnvHttpProxyAgent(pool) : new Agent(pool);
}
