import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Heartbeat } from '../../../src/core/observability/heartbeat.ts';

const TOKEN = 'hb-token-never-to-be-seen';

/** Starts a receiver that answers with this status. */
async function listener(status: number) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(status).end('ok');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('It has no port.');
  return { url: `http://127.0.0.1:${address.port}/ping/${TOKEN}`, asked };
}

/** Beats so often, and gives what was told of each. */
async function beat(url: string, healthy: readonly boolean[]): Promise<(string | null)[]> {
  const told: (string | null)[] = [];
  const stopping = new AbortController();
  const states = [...healthy];
  const heartbeat = new Heartbeat(
    { url, everyMs: 60_000 },
    () => states.shift() ?? false,
    (failure) => told.push(failure),
    async () => {
      if (states.length === 0) stopping.abort();
    },
  );
  await heartbeat.run(stopping.signal);
  return told;
}

describe('the heartbeat', () => {
  test('asks the address while the archive is healthy, and stays silent while it is not', async () => {
    const { url, asked } = await listener(200);
    expect(await beat(url, [true, false, true])).toEqual([null, null]);
    expect(asked).toEqual([`GET /ping/${TOKEN}`, `GET /ping/${TOKEN}`]);
  });

  test('a refusal is told, and does not name the address', async () => {
    const { url } = await listener(503);
    expect(await beat(url, [true])).toEqual(['it answered 503']);
  });

  test('an unreachable address is reported without naming it', async () => {
    const told = await beat(`http://127.0.0.1:9/${TOKEN}`, [true]);
    expect(told).toHaveLength(1);
    expect(told[0]).toContain('ECONNREFUSED');
    expect(told[0]).not.toContain(TOKEN);
  });
});
