/**
 * A node in a process of its own that serves prepared answers as fast as it can: what is measured is the archiver.
 * Words: number of blobs, bytes of each. Prints its address; answers `GET /usage` with its own CPU seconds and counts.
 */
import { createHash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { z } from 'zod';

const [count = 0, sizeBytes = 0] = process.argv.slice(2).map(Number);
const call = z.object({ method: z.string(), id: z.unknown(), params: z.array(z.unknown()) });

const answers = new Map<string, Buffer>();
const hashes: string[] = [];
for (let index = 0; index < count; index++) {
  const bytes = createHash('shake256', { outputLength: sizeBytes }).update(`bench ${sizeBytes} ${index}`).digest();
  const versionHash = createHash('keccak-256').update(bytes).digest('hex');
  hashes.push(versionHash);
  const facts = `"versionhash":"${versionHash}","mtp":1795260000,"datasize":${sizeBytes},"txid":"${versionHash}"`;
  answers.set(versionHash, Buffer.from(`{${facts},"data":"${bytes.toString('hex')}"}`));
}
const entries = hashes.map(
  (hash) => `{"versionhash":"${hash}","mtp":1795260000,"datasize":${sizeBytes},"txid":"${hash}"}`,
);
const tip = `{"chain":"bench","blocks":1,"headers":1,"bestblockhash":"${'22'.repeat(32)}","mediantime":1795260100,"initialblockdownload":false}`;
const calls: Record<string, number> = {};

function result({ method, params }: z.infer<typeof call>): Buffer | string {
  calls[method] = (calls[method] ?? 0) + 1;
  switch (method) {
    case 'getblockhash':
      return `"${'11'.repeat(32)}"`;
    case 'getblockchaininfo':
      return tip;
    case 'getnetworkinfo':
      return '{"version":50101,"subversion":"/Satoshi:5.1.1/"}';
    case 'listnevmblobdata': {
      const [most, from] = z.tuple([z.number(), z.number()]).rest(z.unknown()).parse(params);
      return `[${entries.slice(from, from + most).join(',')}]`;
    }
    case 'getnevmblobdata':
      return answers.get(z.string().parse(params[0])) ?? 'null';
    default:
      return 'null';
  }
}

function parts(one: z.infer<typeof call>): Buffer[] {
  const value = result(one);
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
      Buffer.from(JSON.stringify({ cpuSeconds: (user + system) / 1e6, calls, hashes: hashes.slice(0, 64) })),
    ]);
    return;
  }
  const received: Buffer[] = [];
  request.on('data', (chunk: Buffer) => received.push(chunk));
  request.on('end', () => {
    const body: unknown = JSON.parse(Buffer.concat(received).toString('utf8'));
    if (!Array.isArray(body)) return send(response, parts(call.parse(body)));
    const batch = body.map((one, index) => [Buffer.from(index === 0 ? '' : ','), ...parts(call.parse(one))]);
    return send(response, [Buffer.from('['), ...batch.flat(), Buffer.from(']')]);
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null) process.stdout.write(`http://127.0.0.1:${address.port}\n`);
});
process.on('disconnect', () => process.exit());
