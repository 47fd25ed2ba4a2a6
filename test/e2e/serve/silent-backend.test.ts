import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { NEVER } from '../../sample-blobs.ts';
import { describeWithServers, SERVER_START_MS } from '../../servers/availability.ts';
import { startS3Server } from '../../servers/s3-server.ts';
import { s3Environment } from '../backends/real-backends.ts';
import { eventually } from '../eventually.ts';
import { startReaderHere } from './reader-process.ts';

/** A Kubo that takes every connection and never says a word: what a firewall or a stuck process looks like. */
async function silentKubo(): Promise<Record<string, string>> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = z.object({ port: z.number() }).parse(server.address());
  return { HOLDFAST_IPFS_API_URL: `http://127.0.0.1:${port}`, HOLDFAST_WITHHELD_FILE: '/dev/null' };
}

const ANYTHING = '00'.repeat(32);

test.each([
  ['refuses connections', async () => ({ HOLDFAST_IPFS_API_URL: 'http://127.0.0.1:9' })],
  ['never answers', silentKubo],
])('a reader whose only backend %s listens, and says that it is not ready', async (_, backend) => {
  const reader = await startReaderHere({ HOLDFAST_WITHHELD_FILE: '/dev/null', ...(await backend()) });
  const first = await reader.client.readiness();
  expect(first.status).toBe(503);
  // On a busy machine the backend may have used up its time before the first question comes.
  expect(['reader/not-asked-yet', 'storage/unreachable', 'storage/timeout']).toContain(first.conditions[0]?.code);
  expect(await reader.client.problem(`/v1/blobs/${ANYTHING}`)).toMatchObject({ status: 503 });
  await eventually(async () => {
    const { conditions } = await reader.client.readiness();
    expect(conditions.map(({ code }) => code)).toEqual([expect.stringMatching(/^storage\/(timeout|unreachable)$/)]);
  });
  reader.kill('SIGTERM');
  expect((await reader.ended).code).toBe(143);
});

test('the reader listens before a silent backend has used up the time that it has to answer', async () => {
  // The backend never uses up its time, so that a reader which waits for that never listens.
  const limits = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(NEVER);
  onTestFinished(() => limits.mockRestore());
  const reader = await startReaderHere(await silentKubo());
  const [logged = ''] = reader.stdout.toString('utf8').split('"url":');
  expect(logged).toContain('reader/not-asked-yet');
  expect(logged).not.toContain('storage/timeout');
});

describeWithServers('beside a silent backend', () => {
  test(
    'another one says what it withholds all the same, so that it can serve',
    async () => {
      const s3 = await startS3Server();
      onTestFinished(async () => s3.stop());
      const reader = await startReaderHere({ ...(await s3Environment(s3)).env, ...(await silentKubo()) });
      await eventually(async () => {
        const { status, conditions } = await reader.client.readiness();
        expect([status, conditions.map(({ code }) => code)]).toEqual([200, ['storage/timeout']]);
      });
    },
    SERVER_START_MS,
  );
});
