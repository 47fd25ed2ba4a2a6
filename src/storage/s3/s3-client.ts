import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { S3Client } from '@aws-sdk/client-s3';
import type { S3Options } from './s3-options.ts';

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

/** What the `Date` of the last answer said, of a refusal as well. */
export class ServerClock {
  offsetMs: number | null = null;

  note(response: unknown): void {
    if (typeof response !== 'object' || response === null || !('headers' in response)) return;
    const { headers } = response;
    const date: unknown = typeof headers === 'object' && headers !== null ? Reflect.get(headers, 'date') : null;
    const theirs = typeof date === 'string' ? Date.parse(date) : Number.NaN;
    if (!Number.isNaN(theirs)) this.offsetMs = theirs - Date.now();
  }
}

export async function createS3Client(sdk: Sdk, options: S3Options, clock: ServerClock): Promise<S3Client> {
  const { NodeHttpHandler } = await import('@smithy/node-http-handler');
  const agent = {
    keepAlive: true,
    maxSockets: options.connections,
    // Node's own support of HTTP_PROXY, HTTPS_PROXY and NO_PROXY: https://nodejs.org/api/http.html#built-in-proxy-support
    proxyEnv: process.env,
  };
  const client = new sdk.S3Client({
    region: options.region,
    forcePathStyle: options.addressing === 'path',
    ...(options.endpoint === null ? {} : { endpoint: options.endpoint }),
    ...(options.credentials === null ? {} : { credentials: options.credentials }),
    maxAttempts: ATTEMPTS,
    // From 3.729 on the default sends checksums that some servers refuse; what arrives is hashed by ourselves.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // A bucket in another region is a sentence to the operator, not a silent detour.
    followRegionRedirects: false,
    requestHandler: new NodeHttpHandler({
      httpAgent: new HttpAgent(agent),
      httpsAgent: new HttpsAgent(agent),
      connectionTimeout: options.connectTimeoutMs,
      // The archive bounds how much is under way; the handler's warning about a queue would go to the console.
      socketAcquisitionWarningTimeout: options.timeoutMs * 2,
    }),
  });
  client.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      clock.note(result.response);
      return result;
    },
    // Nearest to the wire, so that refusals pass here before they are thrown.
    { step: 'deserialize', priority: 'low', name: 'holdfastServerClock' },
  );
  return client;
}
