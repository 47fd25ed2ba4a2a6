import { once } from 'node:events';
import { createServer } from 'node:http';
import { Pool } from 'undici';
import { createDevnode } from '../../src/devnode/index.ts';
import type { Figure } from './figure.ts';

const BLOB_BYTES = 2_097_152;
const GETS = 60;
const ROUNDS = 5;
const AT_ONCE = 4;

async function rate(pool: Pool, body: string): Promise<number> {
  let left = GETS;
  const headers = { 'content-type': 'text/plain', authorization: `Basic ${btoa('devnode:devnode')}` };
  const begun = performance.now();
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      const answer = await pool.request({ path: '/', method: 'POST', headers, body });
      const bytes = await answer.body.arrayBuffer();
      if (bytes.byteLength < 2 * BLOB_BYTES) throw new Error('The bench got no blob.');
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return GETS / ((performance.now() - begun) / 1_000);
}

/** 2 MiB gets from the emulated node against a static server of the same bytes, both in this process, by turns. */
export async function benchDevnode(): Promise<Figure[]> {
  const devnode = await createDevnode();
  const { versionHash } = devnode.submitBlob(Buffer.alloc(BLOB_BYTES, 'blob'));
  devnode.mine();
  const body = JSON.stringify({ id: 'b', method: 'getnevmblobdata', params: [versionHash, true] });
  const ours = new Pool(devnode.url, { connections: AT_ONCE });

  const recorded = await ours.request({
    path: '/',
    method: 'POST',
    body,
    headers: { authorization: `Basic ${btoa('devnode:devnode')}` },
  });
  const bytes = Buffer.from(await recorded.body.arrayBuffer());
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end(bytes));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const limit = new Pool(`http://127.0.0.1:${port}`, { connections: AT_ONCE });
  try {
    const ratios: number[] = [];
    for (let round = 0; round < ROUNDS; round++) ratios.push((await rate(ours, body)) / (await rate(limit, body)));
    ratios.sort((a, b) => a - b);
    const median = ratios[ROUNDS >> 1] ?? Number.NaN;
    return [{ name: '2 MiB gets from devnode against a static server', value: median, unit: '×', least: 0.5 }];
  } finally {
    await Promise.all([ours.close(), limit.close()]);
    server.close();
    await devnode.close();
  }
}
