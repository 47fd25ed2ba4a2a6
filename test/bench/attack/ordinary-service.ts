import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';

const ADDRESSES = [101, 102, 103, 104, 105, 106, 107, 108];
const CONNECTIONS = 12;
const BETWEEN_MS = 20;

interface Question {
  readonly path: string;
  readonly body?: string;
}

/** One of each kind that the attackers ask as well. */
function questionsAbout(large: string, small: string): Question[] {
  const call = (method: string, ...params: unknown[]) => JSON.stringify({ id: 1, method, params });
  return [
    { path: `/v1/blobs/${large}` },
    { path: `/vh/${large}` },
    { path: '/', body: call('getnevmblobdata', large, true) },
    { path: '/', body: `[${[large, small].map((hash) => call('getnevmblobdata', hash, true)).join(',')}]` },
    { path: '/', body: call('waitfornewblock', 2_000) },
    { path: '/', body: `[${Array.from({ length: 100 }, () => call('getblockcount')).join(',')}]` },
    { path: `/v1/blobs/${small}` },
    { path: `/v1/blobs/${small}/record` },
    { path: '/v1/blobs?limit=100' },
    { path: '/v1/window' },
    { path: '/check_vh', body: JSON.stringify([large, small]) },
    { path: '/no/such/route' },
  ];
}

/**
 * The work that a public archive does all day: a hundred connections from a few addresses ask everything that there is to ask, and read
 * what they are given. A daemon that has just started has compiled, mapped and prepared nothing of it yet; what that takes is no
 * memory that an attack leaves behind.
 */
export async function serveOrdinarily(url: string, large: string, small: string, seconds: number): Promise<void> {
  const questions = questionsAbout(large, small);
  const endMs = performance.now() + seconds * 1_000;
  const ask = async (pool: Pool, first: number): Promise<void> => {
    for (let at = first; performance.now() < endMs; at += 1) {
      const { path, body } = questions[at % questions.length] ?? { path: '/healthz' };
      const answer = await pool.request({
        path,
        method: body === undefined ? 'GET' : 'POST',
        ...(body === undefined ? {} : { body }),
      });
      await answer.body.dump({ limit: Number.POSITIVE_INFINITY });
      await pause(BETWEEN_MS);
    }
  };
  const listen = async (pool: Pool): Promise<void> => {
    const answer = await pool.request({
      path: '/v1/events',
      method: 'GET',
      signal: AbortSignal.timeout(endMs - performance.now()),
    });
    await answer.body.dump({ limit: Number.POSITIVE_INFINITY }).catch(() => undefined);
  };
  const served = ADDRESSES.map(async (last) => {
    const pool = new Pool(url, { localAddress: `127.0.0.${last}`, connections: CONNECTIONS });
    const asked = Array.from({ length: CONNECTIONS - 1 }, (_, first) => ask(pool, first));
    await Promise.all([...asked, listen(pool).catch(() => undefined)]);
    await pool.destroy();
  });
  await Promise.all(served);
}
