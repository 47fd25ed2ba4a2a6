import type { ServerResponse } from 'node:http';
import { type MisbehavingServer, misbehavingServer } from '../../storage/misbehaving-server.ts';

/** Imitates Sentinel with its quirks: hex text, 200 with an empty body when missing, HTML elsewhere. */
export async function fakeSentinel(blobs: ReadonlyMap<string, Uint8Array>): Promise<MisbehavingServer> {
  return await misbehavingServer(({ path }, response) => {
    const [, hash] = /^\/vh\/([0-9a-f]{64})$/.exec(path) ?? [];
    if (hash === undefined) {
      response.writeHead(404, { 'content-type': 'text/html; charset=utf-8' });
      response.end('<!doctype html><html lang=en><title>404 Not Found</title><h1>Not Found</h1></html>');
      return;
    }
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', connection: 'close' });
    response.end(Buffer.from(blobs.get(hash) ?? []).toString('hex'));
  });
}

export const PEER_LIES = ['wrong-bytes', 'truncate', 'hang', 'drip', 'web-page', '503', 'cut', 'endless'] as const;
export type PeerLie = (typeof PEER_LIES)[number];

/** A peer that answers for every hash, and never as it should. */
export async function lyingPeer(lie: PeerLie): Promise<MisbehavingServer> {
  return await misbehavingServer((_, response) => lies(lie, response));
}

function lies(lie: PeerLie, response: ServerResponse): void {
  const raw = { 'content-type': 'application/octet-stream' };
  switch (lie) {
    case 'wrong-bytes':
      response.writeHead(200, raw).end(Buffer.alloc(100, 7));
      return;
    case 'truncate':
      response.writeHead(200, { ...raw, 'content-length': 1_000 });
      response.write(Buffer.alloc(10), () => response.destroy());
      return;
    case 'hang':
      return;
    case 'drip': {
      response.writeHead(200, raw);
      const drip = setInterval(() => response.write('0'), 20);
      response.on('close', () => clearInterval(drip));
      return;
    }
    case 'web-page':
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>Welcome</body></html>');
      return;
    case '503':
      response.writeHead(503, { 'content-type': 'text/plain' }).end('later');
      return;
    case 'cut':
      response.destroy();
      return;
    case 'endless': {
      response.writeHead(200, raw);
      const chunk = Buffer.alloc(65_536);
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      more();
      return;
    }
    default:
      lie satisfies never;
  }
}
