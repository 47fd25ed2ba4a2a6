import { expect, test } from 'vitest';
import { z } from 'zod';
import { misbehavingServer } from '../../storage/misbehaving-server.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startArchive, startNode, stop, untilStored } from '../archive-process.ts';
import { eventually } from '../eventually.ts';
import { backfill, eventsIn, passTime, publishBlocks, startBackfill } from './history.ts';

async function checkVh(url: string, hashes: readonly string[]) {
  const response = await fetch(`${url}/check_vh`, { method: 'POST', body: JSON.stringify(hashes) });
  return {
    status: response.status,
    body: response.status === 200 ? z.array(z.boolean()).parse(await response.json()) : null,
  };
}

test('inside of the daemon on the folder: the same progress, reads go on, and check_vh is not kept from its answers', async () => {
  const node = await startNode();
  const blobs = publishBlocks(node, 'beside', 4, 4);
  passTime(node);
  const dataDir = temporaryFolder();
  const daemon = await startArchive({ node, dataDir });
  const live = publishBlocks(node, 'live', 1, 2);
  // The lock comes a block later.
  node.mine(2);
  await untilStored(daemon, live.length);
  let isOpen = false;
  const gate = Promise.withResolvers<void>();
  const { endpoint, asked } = await misbehavingServer(({ path }, response) => {
    const blob = blobs.find(({ versionHash }) => path.endsWith(versionHash));
    void gate.promise.then(() =>
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(blob?.bytes),
    );
  });
  const run = startBackfill(
    { node, dataDir },
    '--from-height',
    String(blobs[0]?.height),
    '--source',
    `peer=${endpoint}`,
  );
  await eventually(() => expect(asked.length).toBeGreaterThan(0));
  // The job runs, and nothing has come yet.
  const [old, lately] = [blobs[0]?.versionHash ?? '', live[0]?.versionHash ?? ''];
  await eventually(async () =>
    expect(await checkVh(daemon.client.url, [lately, old])).toEqual({ status: 200, body: [true, false] }),
  );
  expect((await daemon.client.blob(lately)).status).toBe(200);
  // On chain, and perhaps somewhere: that is not absence.
  expect((await daemon.client.blob(old)).status).toBe(503);
  isOpen = true;
  gate.resolve();
  const ended = await run.ended;
  expect(isOpen && ended.code).toBe(0);
  const events = eventsIn(ended.stdout);
  expect(events.filter(({ event }) => event === 'fetched')).toHaveLength(blobs.length);
  expect(events.at(-1)).toMatchObject({ event: 'report', fetched: blobs.length, exitCode: 0 });
  for (const { versionHash, bytes } of blobs)
    expect((await daemon.client.blob(versionHash)).body.equals(bytes)).toBe(true);
  expect(await checkVh(daemon.client.url, [old, lately])).toEqual({ status: 200, body: [true, true] });
  expect((await daemon.client.readiness()).ready).toBe(true);
  await stop(daemon);
});

test('Ctrl-C ends the job in the daemon, which goes on', async () => {
  const node = await startNode();
  const blobs = publishBlocks(node, 'cancelled', 1, 4);
  passTime(node);
  const dataDir = temporaryFolder();
  const daemon = await startArchive({ node, dataDir });
  const { endpoint, asked } = await misbehavingServer(() => {});
  const run = startBackfill(
    { node, dataDir },
    '--from-height',
    String(blobs[0]?.height),
    '--source',
    `peer=${endpoint}`,
  );
  await eventually(() => expect(asked.length).toBeGreaterThan(0));
  run.kill('SIGINT');
  expect(await run.ended).toMatchObject({ code: 130 });
  expect((await daemon.client.status()).content.stored).toBe(0);
});

test('a stop of the daemon in the middle of it is clean, and told; asked again, the rest comes', async () => {
  const node = await startNode();
  const blobs = publishBlocks(node, 'stopped', 4, 4);
  passTime(node);
  const setup = { node, dataDir: temporaryFolder() };
  const daemon = await startArchive(setup);
  let answers = 5;
  const { endpoint, asked } = await misbehavingServer(({ path }, response) => {
    const blob = blobs.find(({ versionHash }) => path.endsWith(versionHash));
    answers -= 1;
    // From then on it takes a question, and is silent.
    if (answers < 0) return;
    response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(blob?.bytes);
  });
  const words = ['--from-height', String(blobs[0]?.height), '--source', `peer=${endpoint}`];
  const run = startBackfill(setup, ...words);
  await eventually(() => expect(asked.length).toBeGreaterThan(5));
  const ended = await stop(daemon);
  expect(ended).toMatchObject({ code: 143, stderr: '' });
  expect(ended.stdout).toContain('"msg":"stopped"');
  expect((await run.ended).code).toBe(1);

  answers = Number.POSITIVE_INFINITY;
  const again = await startArchive(setup);
  const { report } = await backfill(setup, ...words);
  expect(report).toMatchObject({ exitCode: 0, missingCount: 0 });
  await untilStored(again, blobs.length);
  // Blobs that had come before the stop were not asked for again.
  const times = blobs.map(({ versionHash }) => asked.filter(({ path }) => path.endsWith(versionHash)).length);
  expect(times.filter((count) => count === 1).length).toBeGreaterThan(0);
});
