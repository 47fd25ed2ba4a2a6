import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Agent, request } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { Scene } from './archive-on-devnode.ts';

interface Got {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const list = z.object({ max: z.int(), subscriptions: z.array(z.looseObject({ id: z.string() })) });
const subscribed = z.looseObject({ id: z.string(), secret: z.string() });

/** A rollup that keeps what it is told. */
async function rollup() {
  const got: Got[] = [];
  const server = createServer(async (incoming, response) => {
    got.push({ headers: incoming.headers, body: await text(incoming) });
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = z.object({ port: z.number() }).parse(server.address());
  return { url: `http://127.0.0.1:${port}/batches`, got };
}

function operator(scene: Scene) {
  const dispatcher = new Agent({ connect: { socketPath: join(scene.dataDir, 'admin.sock') } });
  onTestFinished(() => dispatcher.destroy());
  return async (method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await request(`http://localhost${path}`, { dispatcher, method, ...sent });
    return { status: answer.statusCode, body: z.unknown().parse(await answer.body.json()) };
  };
}

test('a rollup is told of its batch once: after a reorganisation and a restart, and when it is final', async () => {
  const { url, got } = await rollup();
  const scene = await Scene.create({ node: { chainLocks: { kind: 'none' } } });
  await scene.start();
  const ask = operator(scene);
  const blob = scene.submit();
  const asked = { versionHash: blob.versionHash, url };
  const { id, secret } = subscribed.parse((await ask('POST', '/admin/subscriptions', asked)).body);
  scene.mine(2);
  await scene.caughtUp();
  expect(await scene.states(blob.versionHash)).toEqual(['mined']);
  const { taken } = scene.node.reorganise(2);
  await scene.caughtUp();
  await scene.stop();

  await scene.start();
  const { body } = await ask('GET', '/admin/subscriptions');
  expect(list.parse(body).subscriptions).toMatchObject([
    { id, versionHash: blob.versionHash, receiver: new URL(url).origin, undelivered: null },
  ]);
  expect(JSON.stringify(body)).not.toContain(secret);
  await scene.caughtUp();
  expect(got).toEqual([]);

  const { hash, height } = scene.node.chain.tip;
  scene.node.announceChainLock(hash, height);
  await scene.finalUpTo(height);
  const waiting = async () => list.parse((await ask('GET', '/admin/subscriptions')).body).subscriptions.length;
  await scene.until('the rollup is told', async () => (await waiting()) === 0);
  const [told, ...more] = got;
  expect(more).toEqual([]);
  const notice = JSON.parse(told?.body ?? '');
  expect(notice).toMatchObject({ version: 1, id, event: 'final', versionHash: blob.versionHash, state: 'stored' });
  expect(notice).toMatchObject({ blockHash: hash, height });
  expect(taken.map(({ hash }) => hash)).not.toContain(notice.blockHash);
  const signed = `${id}.${told?.headers['webhook-timestamp']}.${told?.body}`;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  expect(told?.headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  expect(scene.log.join('')).not.toContain(secret);
});

test('an operator subscribes with a hash and an http address alone, and takes a subscription back', async () => {
  const scene = await Scene.create();
  await scene.start();
  const ask = operator(scene);
  const versionHash = 'ab'.repeat(32);
  for (const wrong of [
    { versionHash: 'ab', url: 'http://r.example/' },
    { versionHash, url: 'file:///etc/passwd' },
    { versionHash, url: 'http://r.example/', secret: 'mine' },
  ]) {
    expect((await ask('POST', '/admin/subscriptions', wrong)).status).toBe(400);
  }
  const asked = { versionHash: `0x01${versionHash}`, url: 'http://r.example/' };
  const { id } = subscribed.parse((await ask('POST', '/admin/subscriptions', asked)).body);
  expect(await ask('DELETE', `/admin/subscriptions/${id}`)).toMatchObject({
    status: 200,
    body: { id, hashType: 'blake2s256' },
  });
  expect(await ask('DELETE', `/admin/subscriptions/${id}`)).toMatchObject({
    status: 404,
    body: { code: 'subscriptions/unknown' },
  });
  const overPort = await request(`${scene.url}/admin/subscriptions`);
  expect([overPort.statusCode, await overPort.body.json()]).toMatchObject([403, { code: 'http/admin-closed' }]);
});
