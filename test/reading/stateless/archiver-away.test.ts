import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { ConditionBoard } from '../../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../../src/core/observability/logger.ts';
import { ArchiverUpstream } from '../../../src/reading/stateless/archiver-upstream.ts';
import { StatelessWatch } from '../../../src/reading/stateless/stateless-watch.ts';
import { WithheldNames } from '../../../src/reading/stateless/withheld-names.ts';
import { NEVER, nameOf, sampleBlob } from '../../sample-blobs.ts';

test('a reader tells that its archiver does not answer, and that it answers again, without a question for a blob', async () => {
  // A balancer speaks for an archiver that is gone.
  let status = 503;
  const server = createServer((_request, response) => response.writeHead(status).end('{}'));
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = z.object({ port: z.number() }).parse(server.address());
  const verifier = { verify: async () => null };
  const archiver = new ArchiverUpstream({ url: `http://127.0.0.1:${port}/archive`, token: null }, verifier);
  onTestFinished(() => archiver.close());
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), () => 0);
  const watch = new StatelessWatch([], new WithheldNames({ stores: [], file: null }), archiver, conditions);
  const told = async () => {
    await watch.look(NEVER);
    return conditions.all().map(({ code }) => code);
  };
  expect(await told()).toEqual(['reader/archiver-away']);
  status = 200;
  expect(await told()).toEqual([]);
  status = 503;
  expect(await told()).toEqual(['reader/archiver-away']);
  await archiver.read({ ...nameOf(sampleBlob('missed', 10)) }, NEVER);
  expect(await told()).toEqual(['reader/archiver-away']);
  status = 200;
  expect(await told()).toEqual([]);
});

test('a reader whose connections all wait for blobs still sees that its archiver answers', async () => {
  let waiting = 0;
  const isFull = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    if (request.url === '/healthz') {
      response.end('{}');
      return;
    }
    waiting += 1;
    if (waiting === 32) isFull.resolve();
  });
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = z.object({ port: z.number() }).parse(server.address());
  const archiver = new ArchiverUpstream({ url: `http://127.0.0.1:${port}`, token: null }, { verify: async () => null });
  onTestFinished(() => archiver.close());
  const asked = Array.from({ length: 40 }, () => archiver.read(nameOf(sampleBlob('slow', 10)), NEVER));
  await isFull.promise;
  await archiver.look(NEVER);
  expect(archiver.isAway).toBe(false);
  await archiver.close();
  await Promise.allSettled(asked);
});
