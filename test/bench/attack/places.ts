import { Pool } from 'undici';

interface Place {
  readonly address: string;
  /** The most that one client may have at once. */
  readonly count: number;
  readonly path: string;
  readonly body?: string;
}

/** Asks for all that one client may hold, from addresses that held it during the attacks. How many requests are refused. */
export async function refusedPlaces(url: string, large: string): Promise<number> {
  const call = `{"method":"getnevmblobdata","params":["${large}",true],"id":1}`;
  const batch = `[${Array.from({ length: 16 }, () => call).join(',')}]`;
  const wait = '{"method":"waitfornewblock","params":[2000],"id":1}';
  const places: readonly Place[] = [
    { address: '127.0.0.12', count: 16, path: '/', body: wait },
    { address: '127.0.0.10', count: 100, path: '/v1/events' },
    // One answer of this may take as much memory as any.
    { address: '127.0.0.5', count: 1, path: '/', body: batch },
  ];
  let refused = 0;
  for (const place of places) refused += await refusedOf(url, place);
  return refused;
}

/** The answers are held open until the last one has begun. */
async function refusedOf(url: string, { address, count, path, body }: Place): Promise<number> {
  const pool = new Pool(url, { localAddress: address, connections: count });
  const method = body === undefined ? 'GET' : 'POST';
  const ask = async () => {
    const answer = await pool.request({ path, method, ...(body === undefined ? {} : { body }) });
    // The pool ends it below.
    answer.body.on('error', () => undefined);
    return answer.statusCode;
  };
  const statuses = await Promise.all(Array.from({ length: count }, ask));
  await pool.destroy();
  return statuses.filter((status) => status !== 200).length;
}
