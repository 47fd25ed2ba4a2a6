import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Pool } from 'undici';
import { z } from 'zod';
import { createBlobNode, createClient, getBlockCount } from '../../src/client.ts';
import { decodeHex } from '../../src/core/blob/hex.ts';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import type { Figure } from './figure.ts';

const BLOB_BYTES = 2_097_152;
const ROUNDS = 9;

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
  const ratios = rounds.map((one) => one.ours / one.limit).sort((a, b) => a - b);
  return ratios[ratios.length >> 1] ?? Number.NaN;
}

/** Measures what the client costs: medians of ratios against a limit that is measured by turns with it. */
export async function benchClient(): Promise<Figure[]> {
  const server = fork(new URL('client/fixed-answers.ts', import.meta.url));
  const [said] = await once(server, 'message');
  const { port, versionHash } = z.object({ port: z.int(), versionHash: z.string() }).parse(said);
  const url = `http://user:password@127.0.0.1:${port}`;
  const client = createClient({ url });
  const node = createBlobNode({ url });
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 6 });
  const wanted = { versionHash: parseVersionHash(versionHash), sizeBytes: BLOB_BYTES };
  const { signal } = new AbortController();
  const fetchOne = async () => {
    const [outcome] = await node.fetchBlobs([wanted], signal);
    if (outcome?.kind !== 'bytes') throw new Error('The bench got no bytes.');
  };
  const ascii = Buffer.alloc(BLOB_BYTES * 2, 'c0ffee1234567890');
  const text = ascii.toString('latin1');
  try {
    const callBare = () => bareCall(pool);
    const callOurs = () => getBlockCount(client);
    const download = () => bareDownload(pool, versionHash);
    // Both begin with the bytes of the answer; Buffer.from wants them as text first, and checks nothing.
    const hex = await compared(
      20,
      1,
      () => Buffer.from(ascii.toString('latin1'), 'hex'),
      () => decodeHex(ascii),
    );
    const bareHex = await compared(
      20,
      1,
      () => Buffer.from(text, 'hex'),
      () => decodeHex(ascii),
    );
    return [
      {
        name: 'small call, one at a time, time against bare undici',
        value: await compared(500, 1, callOurs, callBare),
        unit: '×',
        most: 1.5,
      },
      {
        name: 'small call, four at once, time against bare undici',
        value: await compared(1_000, 4, callOurs, callBare),
        unit: '×',
        most: 1.5,
      },
      { name: 'hex of 2 MiB with checks, speed against Buffer.from', value: hex, unit: '×', least: 1.5 },
      { name: '  against Buffer.from of text that is there already', value: bareHex, unit: '×' },
      {
        name: 'fetch of 2 MiB, decoded, time against the bare download',
        value: await compared(30, 4, fetchOne, download),
        unit: '×',
      },
    ];
  } finally {
    await Promise.all([client.close(), node.close(), pool.close()]);
    server.kill();
  }
}

const headers = { 'content-type': 'text/plain', authorization: `Basic ${btoa('user:password')}` };
const countBody = JSON.stringify({ jsonrpc: '1.0', id: 'holdfast', method: 'getblockcount', params: [] });
const kept = Buffer.allocUnsafeSlow(3 * BLOB_BYTES);

async function bareCall(pool: Pool): Promise<unknown> {
  const { body } = await pool.request({ path: '/', method: 'POST', headers, body: countBody });
  return body.json();
}

function bareDownload(pool: Pool, versionHash: string): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '1.0', id: '0', method: 'getnevmblobdata', params: [versionHash, true] });
  return new Promise((resolve, reject) => {
    let length = 0;
    pool.dispatch(
      { path: '/', method: 'POST', headers, body },
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
