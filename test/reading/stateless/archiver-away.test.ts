import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { ConditionBoard } from '../../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../../src/core/observability/logger.ts';
import { ArchiverUpstream } from '../../../src/reading/stateless/archiver-upstream.ts';
import { StatelessWatch } from '../../../src/reading/stateless/stateless-watch.ts';
import { WithheldNames } from '../../../src/reading/stateless/withheld-names.ts';
import { NEVER, nameOf, sampleBlob } from '../../sample-blobs.ts';
import { freePort } from '../../servers/child-server.ts';

test('a reader tells that its archiver does not answer, and that it answers again, without a question for a blob', async () => {
  let status = 200;
  const server = createServer((_request, response) => response.writeHead(status).end('{}'));
  onTestFinished(() => void server.close());
  const port = await freePort();
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
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  expect(await told()).toEqual([]);
  // A balancer speaks for an archiver that is gone.
  status = 503;
  expect(await told()).toEqual(['reader/archiver-away']);
  await archiver.read({ ...nameOf(sampleBlob('missed', 10)) }, NEVER);
  expect(await told()).toEqual(['reader/archiver-away']);
  status = 200;
  expect(await told()).toEqual([]);
});
