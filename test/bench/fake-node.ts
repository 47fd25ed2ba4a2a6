/**
 * A node in a process of its own that serves prepared answers as fast as it can: what is measured is the archiver.
 * Words: number of blobs, bytes of each. Prints its address; answers `GET /usage` with its own CPU seconds and counts.
 */
import { createHash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { z } from 'zod';
import { createDevnode } from '../../src/devnode/index.ts';

const [count = 0, sizeBytes = 0] = process.argv.slice(2).map(Number);
const call = z.object({ method: z.string(), id: z.unknown(), params: z.array(z.unknown()) });

/** Within the window, whatever the clock says: the chain is made now. */
const MEDIAN_TIME = Math.floor(Date.now() / 1_000);
/** Blocks by which the archiver's budget of calls is counted. */
const BLOCKS = 12;
const answers = new Map<string, Buffer>();
const hashes: string[] = [];
for (let index = 0; index < count; index++) {
  const bytes = createHash('shake256', { outputLength: sizeBytes }).update(`bench ${sizeBytes} ${index}`).digest();
  const versionHash = createHash('keccak-256').update(bytes).digest('hex');
  hashes.push(versionHash);
  const facts = `"versionhash":"${versionHash}","mtp":${MEDIAN_TIME},"datasize":${sizeBytes},"txid":"${versionHash}"`;
  answers.set(versionHash, Buffer.from(`{${facts},"data":"${bytes.toString('hex')}"}`));
}
const entries = hashes.map(
  (hash) => `{"versionhash":"${hash}","mtp":${MEDIAN_TIME},"datasize":${sizeBytes},"txid":"${hash}"}`,
);
/** The chain itself, a few empty blocks, is asked of an emulated node: those calls are few. */
const chain = await createDevnode({ initialBlocks: BLOCKS, workload: null });
const authorization = `Basic ${btoa(`${chain.username}:${chain.password}`)}`;
const calls: Record<string, number> = {};

async function result({ method, params }: z.infer<typeof call>): Promise<Buffer | string> {
  calls[method] = (calls[method] ?? 0) + 1;
  switch (method) {
    case 'listnevmblobdata': {
      const [most, from] = z.tuple([z.number(), z.number()]).rest(z.unknown()).parse(params);
      return `[${entries.slice(from, from + most).join(',')}]`;
    }
    case 'getnevmblobdata':
      return answers.get(z.string().parse(params[0])) ?? 'null';
    default:
      return await fromChain(method, params);
  }
}

async function fromChain(method: string, params: readonly unknown[]): Promise<string> {
  const body = JSON.stringify({ id: 'b', method, params });
  const answer = await fetch(chain.url, { method: 'POST', headers: { authorization }, body });
  return JSON.stringify(z.object({ result: z.unknown() }).parse(await answer.json()).result);
}

async function parts(one: z.infer<typeof call>): Promise<Buffer[]> {
  const value = await result(one);
  const tail = Buffer.from(`,"error":null,"id":${JSON.stringify(one.id)}}`);
  return [Buffer.from('{"result":'), typeof value === 'string' ? Buffer.from(value) : value, tail];
}

function send(response: ServerResponse, pieces: readonly Buffer[]): void {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': length });
  for (const piece of pieces) response.write(piece);
  response.end();
}

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    const { user, system } = process.cpuUsage();
    send(response, [
      Buffer.from(JSON.stringify({ cpuSeconds: (user + system) / 1e6, blocks: BLOCKS, hashes: hashes.slice(0, 64) })),
    ]);
    return;
  }
  const received: Buffer[] = [];
  request.on('data', (chunk: Buffer) => received.push(chunk));
  request.on('end', async () => {
    const body: unknown = JSON.parse(Buffer.concat(received).toString('utf8'));
    if (!Array.isArray(body)) return send(response, await parts(call.parse(body)));
    const pieces: Buffer[] = [Buffer.from('[')];
    for (const [index, one] of body.entries()) {
      pieces.push(Buffer.from(index === 0 ? '' : ','), ...(await parts(call.parse(one))));
    }
    return send(response, [...pieces, Buffer.from(']')]);
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null) process.stdout.write(`http://127.0.0.1:${address.port}\n`);
});
process.on('disconnect', () => process.exit());
