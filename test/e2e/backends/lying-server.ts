import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type Asked, html, misbehavingServer, object, s3Error } from '../../storage/misbehaving-server.ts';

/** The lie that it tells of blobs; with everything else it is honest. */
export const LIES = ['500', 'hang', 'truncate', 'corrupt', 'lie', 'cut', 'web-page', '412'] as const;
export type Lie = (typeof LIES)[number];

/** A bucket in memory on a real socket, which keeps what it is given only while it is honest. */
export class LyingServer {
  /** null: honest. */
  lie: Lie | null = null;
  /** Takes no blobs, and gives those that it has. */
  takesNothing = false;
  /** A listing shows nothing that came after this was set. */
  listsOnly: ReadonlySet<string> | null = null;
  /** Sizes of what a listing shows though it is gone. */
  readonly stillLists = new Map<string, number>();
  readonly objects = new Map<string, Buffer>();
  endpoint = '';
  /** Puts of blobs that it was asked for. */
  puts = 0;

  /** The settings by which a command reaches it. */
  get environment(): Record<string, string> {
    return {
      HOLDFAST_S3_ENDPOINT: this.endpoint,
      HOLDFAST_S3_BUCKET: 'liar',
      HOLDFAST_S3_ACCESS_KEY_ID: 'key',
      HOLDFAST_S3_SECRET_ACCESS_KEY: 'secret',
    };
  }

  static async start(): Promise<LyingServer> {
    const server = new LyingServer();
    const { endpoint, asked } = await misbehavingServer((one, response) => {
      // Bodies that are not kept would fill the memory of a long test.
      asked.length = 0;
      server.#answer(one, response);
    });
    server.endpoint = endpoint;
    return server;
  }

  #answer(asked: Asked, response: ServerResponse): void {
    const { method, key } = asked;
    const isBlob = key.startsWith('blobs/');
    if (isBlob && method === 'PUT') this.puts += 1;
    if (isBlob && method === 'PUT' && this.takesNothing) {
      s3Error(response, 503, 'SlowDown');
      return;
    }
    if (isBlob && this.lie !== null && this.#lied(asked, response, this.lie)) return;
    const found = this.objects.get(key);
    if (key.startsWith('?') || key === '') this.#list(response, new URLSearchParams(key).get('prefix') ?? '');
    else if (method === 'PUT') this.#put(asked, response);
    else if (method === 'DELETE') {
      this.objects.delete(key);
      response.writeHead(204).end();
    } else if (found === undefined) {
      if (method === 'HEAD') response.writeHead(404).end();
      else s3Error(response, 404, 'NoSuchKey');
    } else if (method === 'HEAD') response.writeHead(200, { etag: tagOf(found), 'content-length': found.length }).end();
    else object(response, found, tagOf(found));
  }

  /** true: it was answered. */
  #lied({ method, key, body }: Asked, response: ServerResponse, lie: Lie): boolean {
    const isPut = method === 'PUT';
    const there = this.objects.get(key) ?? body;
    switch (lie) {
      case '500':
        s3Error(response, 500, 'InternalError');
        return true;
      case 'hang':
        return true;
      case 'web-page':
        html(response, 200);
        return true;
      case 'lie':
        if (isPut) response.writeHead(200, { etag: '"lie"' }).end();
        else s3Error(response, 404, 'NoSuchKey');
        return true;
      case '412':
        if (isPut) s3Error(response, 412, 'PreconditionFailed');
        else object(response, Buffer.alloc(100, 7), '"wrong"');
        return true;
      case 'corrupt':
        if (isPut) return false;
        object(response, Buffer.concat([there.subarray(0, -1), Buffer.of((there.at(-1) ?? 0) ^ 1)]), tagOf(there));
        return true;
      case 'truncate':
        if (isPut) return false;
        object(response, there.subarray(0, there.length >> 1), tagOf(there));
        return true;
      case 'cut':
        if (isPut) return false;
        response.writeHead(200, { etag: tagOf(there), 'content-length': there.length });
        response.write(there.subarray(0, there.length >> 1), () => response.destroy());
        return true;
      default:
        return lie satisfies never;
    }
  }

  #put({ key, body, headers }: Asked, response: ServerResponse): void {
    const there = this.objects.get(key);
    const match = headers['if-match'];
    const isThere = headers['if-none-match'] === '*' && there !== undefined;
    const isOther = match !== undefined && (there === undefined || tagOf(there) !== match);
    if (isThere || isOther) s3Error(response, 412, 'PreconditionFailed');
    else {
      this.objects.set(key, body);
      response.writeHead(200, { etag: tagOf(body) }).end();
    }
  }

  #list(response: ServerResponse, prefix: string): void {
    const listed = [...this.objects].filter(([key]) => key.startsWith(prefix) && (this.listsOnly?.has(key) ?? true));
    const sizes = [...listed.map(([key, { length }]) => [key, length] as const), ...this.stillLists];
    const contents = sizes.map(([key, length]) => `<Contents><Key>${key}</Key><Size>${length}</Size></Contents>`);
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.end(
      `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><IsTruncated>false</IsTruncated><KeyCount>${contents.length}</KeyCount>${contents.join('')}</ListBucketResult>`,
    );
  }
}

function tagOf(body: Buffer): string {
  return `"${createHash('md5').update(body).digest('hex')}"`;
}
