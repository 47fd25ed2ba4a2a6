import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { sampleBytes } from '../sample-blobs.ts';
import { blobs, blocks, recorded } from '../verify/recorded-chain.ts';

const Tip = z.looseObject({ blocks: z.int(), bestblockhash: z.string() });
const Recording = z.object({ snapshots: z.record(z.string(), z.object({ best: z.string(), list: z.string() })) });
const Result = z.object({ result: z.unknown() });
const file = new URL('../vectors/chain-5.1.json.gz', import.meta.url);
const { snapshots } = Recording.parse(JSON.parse(gunzipSync(readFileSync(file)).toString()));

/** The states that were recorded, in their order. */
export const STAGES = Object.keys(snapshots);
const Call = z.object({ id: z.unknown(), method: z.string(), params: z.array(z.unknown()) });
type Call = z.infer<typeof Call>;

/** Median time of the first recorded block: the ones below it, which were not recorded, are given this time. */
const OLDEST_SECONDS = 1_795_254_596;
const OLDEST_HEIGHT = 108;
const ABSENT = -32602;
const NOT_FOUND = -32601;
const OUT_OF_RANGE = -8;
const INTERNAL = -32603;

export class Refusal extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** A server that answers from the recording of a real node (release 5.1.1), stage after stage; what was not recorded it lacks. */
export class RecordedNode {
  readonly url: string;
  /** Changes what is answered: by method, first parameter and the true result. */
  alter: (method: string, first: unknown, result: unknown) => unknown = (_method, _first, result) => result;
  #stage = STAGES[0] ?? '';

  private constructor(url: string) {
    this.url = url;
  }

  static async listen(): Promise<RecordedNode> {
    let node: RecordedNode | null = null;
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
        const answer = Array.isArray(body) ? body.map((one) => node?.answer(one)) : node?.answer(body);
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const address = server.address();
    node = new RecordedNode(`http://u:p@127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
    return node;
  }

  goTo(stage: string): void {
    if (!(stage in snapshots)) throw new Error(`Not recorded: ${stage}`);
    this.#stage = stage;
  }

  answer(body: unknown) {
    const call = Call.parse(body);
    try {
      return { result: this.alter(call.method, call.params[0], this.#result(call)), error: null, id: call.id };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { result: null, error: { code: error.code, message: error.message }, id: call.id };
    }
  }

  #result({ method, params }: Call): unknown {
    const [first, second] = params;
    switch (method) {
      case 'getblockchaininfo':
        return this.#snapshot('best');
      case 'listnevmblobdata': {
        const entries = z.array(z.unknown()).parse(this.#snapshot('list'));
        return entries.slice(Number(second), Number(second) + Number(first));
      }
      case 'getblockhash':
        if (first === 0) return '00'.repeat(31).concat('01');
        return this.#at(Number(first));
      case 'getblock':
        return named(String(first)).hex;
      case 'getblockheader':
        return header(String(first));
      case 'getnevmblobdata':
        return blob(String(first));
      case 'getbestchainlock':
        throw new Refusal(INTERNAL, 'Unable to find any ChainLock');
      default:
        throw new Refusal(NOT_FOUND, 'Method not found');
    }
  }

  #snapshot(part: 'best' | 'list'): unknown {
    return Result.parse(JSON.parse(snapshots[this.#stage]?.[part] ?? '')).result;
  }

  #at(height: number): string {
    let { bestblockhash: hash } = Tip.parse(this.#snapshot('best'));
    for (;;) {
      const { view } = named(hash);
      if (view.height === height) return view.hash;
      if (view.height < height || height < OLDEST_HEIGHT) throw new Refusal(OUT_OF_RANGE, 'Block height out of range');
      hash = view.previousblockhash;
    }
  }
}

function named(hash: string): (typeof blocks)[number] {
  const found = blocks.find(({ view }) => view.hash === hash);
  if (found === undefined) throw new Refusal(-5, 'Block not found');
  return found;
}

function header(hash: string): unknown {
  const found = blocks.find(({ view }) => view.hash === hash);
  if (found !== undefined) return recorded('getblockheader', hash);
  const times = { time: OLDEST_SECONDS, mediantime: OLDEST_SECONDS };
  return { hash, height: OLDEST_HEIGHT - 1, previousblockhash: hash, ...times };
}

function blob(versionHash: string): unknown {
  const found = blobs.find(({ versionhash }) => versionhash === versionHash);
  if (found === undefined) throw new Refusal(ABSENT, `Could not find blob information for versionhash ${versionHash}`);
  const data = Buffer.from(sampleBytes(found.label, found.size)).toString('hex');
  return { versionhash: versionHash, mtp: OLDEST_SECONDS, datasize: found.size, txid: found.txid, data };
}
