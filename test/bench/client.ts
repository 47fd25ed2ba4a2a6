/**
 * What the client costs, as ratios against a limit measured in the same run: `node test/bench/client.ts [--json]`.
 * Measured on two shared cores: small calls 0.95 to 1.3, hex 0.36 to 0.46 (2.2 to 2.8 × as fast), fetch 1.5 to 1.9.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Pool } from 'undici';
import { z } from 'zod';
import { decodeHex } from '../../src/blob/hex.ts';
import { parseVersionHash } from '../../src/blob/ids.ts';
import { createBlobNode, createClient, getBlockCount } from '../../src/client.ts';

const BLOB_BYTES = 2_097_152;
const ROUNDS = 9;

interface Figure {
  readonly name: string;
  readonly ours: number;
  readonly limit: number;
  /** Ours against the limit, median of the rounds' ratios. */
  readonly ratio: number;
  readonly target: string;
}

async function perTurn(turns: number, atOnce: number, turn: () => unknown): Promise<number> {
  let left = turns;
  const start = performance.now();
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      await turn();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return ((performance.now() - start) * 1_000) / turns;
}

/** Both by turns, so that what else the machine does hits both. Microseconds. */
async function compared(turns: number, atOnce: number, ours: () => unknown, limit: () => unknown) {
  const rounds: { ours: number; limit: number }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    rounds.push({ ours: await perTurn(turns, atOnce, ours), limit: await perTurn(turns, atOnce, limit) });
  }
  const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
  return {
    ours: median(rounds.map((one) => one.ours)),
    limit: median(rounds.map((one) => one.limit)),
    ratio: median(rounds.map((one) => one.ours / one.limit)),
  };
}

const server = fork(new URL('client/fixed-answers.ts', import.meta.url));
const { port, versionHash } = z
  .object({ port: z.int(), versionHash: z.string() })
  .parse((await once(server, 'message'))[0]);
const url = `http://user:password@127.0.0.1:${port}`;
const client = createClient({ url });
const node = createBlobNode({ url });
const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 6 });
const { signal } = new AbortController();

const bareBody = JSON.stringify({ jsonrpc: '1.0', id: 'holdfast', method: 'getblockcount', params: [] });
const headers = { 'content-type': 'text/plain', authorization: `Basic ${btoa('user:password')}` };
async function bareCall(): Promise<unknown> {
  const { body } = await pool.request({ path: '/', method: 'POST', headers, body: bareBody });
  return body.json();
}

const wanted = { versionHash: parseVersionHash(versionHash), sizeBytes: BLOB_BYTES };
const getBody = JSON.stringify({ jsonrpc: '1.0', id: '0', method: 'getnevmblobdata', params: [versionHash, true] });
const kept = Buffer.allocUnsafeSlow(3 * BLOB_BYTES);
function bareDownload(): Promise<void> {
  return new Promise((resolve, reject) => {
    let length = 0;
    pool.dispatch(
      { path: '/', method: 'POST', headers, body: getBody },
      {
        onRequestStart: () => undefined,
        onResponseStart: () => undefined,
        onResponseData: (_controller, chunk) => {
          length += chunk.copy(kept, length);
        },
        onResponseEnd: () => resolve(),
        onResponseError: (_controller, error) => reject(error),
      },
    );
  });
}
async function fetchOne(): Promise<void> {
  const [outcome] = await node.fetchBlobs([wanted], signal);
  if (outcome?.kind !== 'bytes') throw new Error('The bench got no bytes.');
}

const ascii = Buffer.alloc(BLOB_BYTES * 2, 'c0ffee1234567890');
const figures: Figure[] = [
  {
    name: 'small call, one at a time: time against bare undici',
    target: '≤ 1.5',
    ...(await compared(500, 1, () => getBlockCount(client), bareCall)),
  },
  {
    name: 'small call, four at once: time against bare undici',
    target: '≤ 1.5',
    ...(await compared(1_000, 4, () => getBlockCount(client), bareCall)),
  },
  {
    name: 'hex of 2 MiB: time against Buffer.from, which does not check',
    target: '≤ 0.67 (1.5 × as fast)',
    ...(await compared(
      20,
      1,
      () => decodeHex(ascii),
      () => Buffer.from(ascii.toString('latin1'), 'hex'),
    )),
  },
  {
    name: 'fetch of 2 MiB, decoded: time against the bare download',
    target: '–',
    ...(await compared(30, 4, fetchOne, bareDownload)),
  },
];
server.send('cpu');
const { cpuMs } = z.object({ cpuMs: z.number() }).parse((await once(server, 'message'))[0]);
await Promise.all([client.close(), node.close(), pool.close()]);
server.kill();

const { user, system } = process.cpuUsage();
const report = {
  figures,
  processor: { clientMs: (user + system) / 1_000, serverMs: cpuMs },
  residentMiB: process.memoryUsage.rss() / 2 ** 20,
};
if (process.argv.includes('--json')) process.stdout.write(`${JSON.stringify(report)}\n`);
else {
  for (const { name, ours, limit, ratio, target } of figures) {
    process.stdout.write(
      `${name}: ${ratio.toFixed(2)} (${ours.toFixed(0)} µs against ${limit.toFixed(0)} µs; target ${target})\n`,
    );
  }
  process.stdout.write(
    `processor: client ${(report.processor.clientMs / 1_000).toFixed(1)} s, server ${(cpuMs / 1_000).toFixed(1)} s; ${report.residentMiB.toFixed(0)} MiB resident\n`,
  );
}
