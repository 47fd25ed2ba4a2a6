import { createServer, type IncomingMessage, type Server } from 'node:http';
import { z } from 'zod';
import { messageOf } from '../blob/errors.ts';
import { decodeHex } from '../blob/hex.ts';
import { HASH_TYPES } from '../blob/ids.ts';
import type { Devnode } from './devnode.ts';
import { FaultRule } from './faults/fault.ts';

const MAX_BODY_BYTES = 8 * 1024 * 1024;

type Route = (devnode: Devnode, body: unknown) => unknown;

/** Defines a route: its body is checked by the schema before the action sees it. */
function route<T extends z.ZodType>(schema: T, action: (devnode: Devnode, body: z.output<T>) => unknown): Route {
  return (devnode, body) => action(devnode, schema.parse(body));
}

const count = z.int().min(0).max(100_000);
const txid = z.string().regex(/^[0-9a-fA-F]{64}$/);
const nothing = z.strictObject({});

/** What one can do to a devnode from outside its process, with the same words as in it. */
const ROUTES: Readonly<Record<string, Route>> = {
  'GET /state': route(nothing, (devnode) => stateOf(devnode)),
  'POST /faults': route(FaultRule, (devnode, rule) => {
    devnode.faults.add(rule);
    return {};
  }),
  'DELETE /faults': route(nothing, (devnode) => {
    devnode.faults.clear();
    return {};
  }),
  'POST /mine': route(
    z.strictObject({ count: count.default(1), withoutBytes: z.boolean().default(false) }),
    (devnode, body) => {
      devnode.mine(body.count, { withoutBytes: body.withoutBytes });
      return stateOf(devnode);
    },
  ),
  'POST /blocks-every': route(z.strictObject({ ms: z.int().positive().nullable() }), (devnode, { ms }) => {
    devnode.setBlocksEvery(ms);
    return stateOf(devnode);
  }),
  'POST /advance': route(z.strictObject({ seconds: z.number() }), (devnode, { seconds }) => {
    devnode.advanceSeconds(seconds);
    return stateOf(devnode);
  }),
  'POST /submit': route(
    z.strictObject({ data: z.string(), hashType: z.enum(HASH_TYPES).default('keccak256') }),
    (devnode, { data, hashType }) => devnode.submitBlob(decodeHex(data), { hashType }),
  ),
  'POST /reorganise': route(
    z.strictObject({
      depth: count,
      blocks: count.optional(),
      remine: z.boolean().default(true),
      drop: z.array(txid).default([]),
    }),
    (devnode, { depth, blocks = depth + 1, remine, drop }) => {
      devnode.reorganise(depth, { blocks, remine, drop });
      return stateOf(devnode);
    },
  ),
  'POST /drop': route(z.strictObject({ txid }), (devnode, body) => ({ dropped: devnode.dropTransaction(body.txid) })),
  'POST /chainlock': route(z.strictObject({ blockHash: txid, height: count }), (devnode, { blockHash, height }) => {
    devnode.announceChainLock(blockHash, height);
    return stateOf(devnode);
  }),
  'POST /chainlocks': route(z.strictObject({ lagBlocks: count.nullable() }), (devnode, { lagBlocks }) => {
    devnode.setChainLocks(lagBlocks === null ? { kind: 'none' } : { kind: 'follow', lagBlocks });
    return stateOf(devnode);
  }),
  'POST /go-away': route(nothing, async (devnode) => {
    await devnode.goAway();
    return {};
  }),
  'POST /come-back': route(nothing, async (devnode) => {
    await devnode.comeBack();
    return {};
  }),
};

/** The admin port: no credentials, so it belongs on the loopback address. */
export class AdminServer {
  readonly #server: Server;

  private constructor(devnode: Devnode) {
    this.#server = createServer((request, response) => {
      const reply = (status: number, body: unknown): void => {
        response.writeHead(status, { 'Content-Type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
      };
      answer(devnode, request).then(
        (body) => (body === undefined ? reply(404, { error: 'No such route.' }) : reply(200, body)),
        (error: unknown) =>
          reply(400, { error: error instanceof z.ZodError ? z.prettifyError(error) : messageOf(error) }),
      );
    });
  }

  static async listen(devnode: Devnode, { host, port }: { host: string; port: number }): Promise<AdminServer> {
    const admin = new AdminServer(devnode);
    await new Promise<void>((resolve, reject) => {
      admin.#server.once('error', reject);
      admin.#server.listen(port, host, resolve);
    });
    return admin;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('The admin port does not listen.');
    return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }
}

async function answer(devnode: Devnode, request: IncomingMessage): Promise<unknown> {
  // No credentials are asked for, so no web page may reach it through somebody's browser.
  if (request.headers.origin !== undefined) throw new Error('The admin port does not answer browsers.');
  const found = ROUTES[`${request.method} ${request.url}`];
  if (found === undefined) return undefined;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    length += chunk.length;
    if (length > MAX_BODY_BYTES) throw new RangeError(`A body of more than ${MAX_BODY_BYTES} bytes.`);
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString();
  return found(devnode, text === '' ? {} : JSON.parse(text));
}

function stateOf(devnode: Devnode): unknown {
  const { tip, mempool, cache, locks } = devnode.chain;
  return {
    url: devnode.url,
    nowSeconds: devnode.nowSeconds(),
    height: tip.height,
    hash: tip.hash,
    medianTimeSeconds: tip.medianTimeSeconds,
    waiting: mempool.size,
    cached: cache.size,
    chainLock: locks.best,
  };
}
