import { cpSync, existsSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LocalStore } from '../../src/storage/local/local-store.ts';
import { atEndOfTest } from '../cleanup.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import {
  type ArchiveSetup,
  environmentOf,
  type RunningArchive,
  startArchive,
  startArchiveHere,
  startNode,
  stop,
  untilStored,
} from './archive-process.ts';
import { eventually } from './eventually.ts';
import { holdfastHere } from './holdfast-here.ts';
import { HoldfastProcess } from './holdfast-process.ts';

const jobs = z.object({ jobs: z.array(z.object({ id: z.string(), kind: z.string(), state: z.string() })) });

function overSocket(dataDir: string) {
  const dispatcher = new Agent({ connect: { socketPath: join(dataDir, 'admin.sock') } });
  atEndOfTest(() => dispatcher.destroy());
  return async (path: string, method: 'GET' | 'POST' | 'PUT' | 'DELETE' = 'GET', body?: unknown) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await request(`http://localhost${path}`, { dispatcher, method, ...sent });
    return { status: answer.statusCode, body: z.unknown().parse(await answer.body.json()) };
  };
}

/** An archive with a backend that takes every connection and never says a word: looking at it takes long. */
async function withSilentBackend<D extends RunningArchive>(start: (setup: ArchiveSetup) => Promise<D>) {
  const silent = createServer((socket) => socket.on('error', () => {}));
  await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening));
  atEndOfTest(() => void silent.close());
  const address = z.object({ port: z.number() }).parse(silent.address());
  const node = await startNode({ seedRecordedBlobs: true });
  const env = {
    HOLDFAST_S3_ENDPOINT: `http://127.0.0.1:${address.port}`,
    HOLDFAST_S3_BUCKET: 'silent',
    HOLDFAST_S3_ACCESS_KEY_ID: 'x',
    HOLDFAST_S3_SECRET_ACCESS_KEY: 'y',
    HOLDFAST_LOCAL_MODE: 'keep',
  };
  const setup = { dataDir: temporaryFolder(), node, env };
  const daemon = await start(setup);
  await untilStored(daemon, 22);
  const ask = overSocket(setup.dataDir);
  const running = async () =>
    jobs.parse((await ask('/admin/jobs')).body).jobs.filter(({ state }) => state === 'running');
  return { setup, daemon, ask, running, env: environmentOf(setup) };
}

test('the socket has every route that the port has', async () => {
  const setup = { dataDir: temporaryFolder(), node: await startNode() };
  const daemon = await startArchiveHere(setup);
  const described = z.object({ paths: z.record(z.string(), z.unknown()) });
  const overPort = described.parse(JSON.parse((await daemon.client.get('/openapi.json')).body.toString()));
  const near = described.parse((await overSocket(setup.dataDir)('/openapi.json')).body);
  expect(Object.keys(near.paths)).toEqual(Object.keys(overPort.paths));
  expect(Object.keys(near.paths)).toContain('/v1/custom/{versionHash}/{keccak}');
});

describe('a job that takes long', () => {
  test('ends with the command that asked for it, when that is interrupted: exit code 130', async () => {
    const { env, running, ask } = await withSilentBackend(startArchiveHere);
    const check = new HoldfastProcess(['check', '--read-data'], { env });
    await eventually(async () => expect(await running()).toHaveLength(1));
    const second = await holdfastHere(['check'], { env });
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('A job of the kind check is under way')]);
    check.kill('SIGINT');
    expect((await check.ended).code).toBe(130);
    expect(await running()).toEqual([]);
    expect(jobs.parse((await ask('/admin/jobs')).body).jobs).toMatchObject([{ kind: 'check', state: 'cancelled' }]);
  });

  test('outlives a command that was killed, and can be cancelled', async () => {
    const { env, running, ask } = await withSilentBackend(startArchiveHere);
    const check = new HoldfastProcess(['check'], { env });
    await eventually(async () => expect(await running()).toHaveLength(1));
    check.kill('SIGKILL');
    await check.ended;
    const [job] = await running();
    expect((await ask(`/admin/jobs/${job?.id}`, 'DELETE')).status).toBe(200);
    await eventually(async () => expect(await running()).toEqual([]));
  });

  test('ends with its daemon and tells the command so: exit code 1, and the daemon stops in time', async () => {
    const { env, daemon, running } = await withSilentBackend(startArchiveHere);
    const check = new HoldfastProcess(['check'], { env });
    await eventually(async () => expect(await running()).toHaveLength(1));
    expect((await stop(daemon)).code).toBe(143);
    const { code, stderr } = await check.ended;
    expect([code, stderr]).toEqual([1, expect.stringContaining('The daemon stopped.')]);
  });

  test('ends with a killed daemon: the command says so in a sentence, and the next daemon starts clean', async () => {
    const { env, daemon, running, setup } = await withSilentBackend(startArchive);
    const check = new HoldfastProcess(['check'], { env });
    await eventually(async () => expect(await running()).toHaveLength(1));
    await stop(daemon, 'SIGKILL');
    const { code, stderr } = await check.ended;
    expect([code, stderr]).toEqual([1, expect.stringContaining('went away before the job was done')]);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(existsSync(join(setup.dataDir, 'admin.sock'))).toBe(true);
    await startArchiveHere(setup);
    expect((await overSocket(setup.dataDir)('/admin/jobs')).body).toMatchObject({ jobs: [] });
    expect(await holdfastHere(['run'], { env })).toMatchObject({ code: 2, stderr: expect.stringContaining('in use') });
  });
});

describe('an operator', () => {
  test('changes how much is logged, at once and everywhere', async () => {
    const node = await startNode();
    const setup = { dataDir: temporaryFolder(), node };
    const daemon = await startArchiveHere(setup);
    const ask = overSocket(setup.dataDir);
    expect((await ask('/admin/log-level')).body).toEqual({ level: 'info' });
    expect((await ask('/admin/log-level', 'PUT', { level: 'loud' })).status).toBe(400);
    expect((await ask('/admin/log-level', 'PUT', { level: 'silent' })).body).toEqual({ level: 'silent' });
    const said = daemon.output.length;
    await ask('/admin/jobs/check-chain', 'POST').catch(() => null);
    expect(daemon.output.slice(said)).toBe('');
    await ask('/admin/log-level', 'PUT', { level: 'info' });
    await ask('/admin/jobs/check-chain', 'POST').catch(() => null);
    await daemon.says(/"msg":"a job ended"/);
  });

  test('drains it: nothing new is fetched, readiness says why, and it goes on when told to', async () => {
    const node = await startNode({ seedRecordedBlobs: true });
    const setup = { dataDir: temporaryFolder(), node };
    const daemon = await startArchiveHere(setup);
    await untilStored(daemon, 22);
    const ask = overSocket(setup.dataDir);
    expect((await ask('/admin/drain')).body).toMatchObject({ isDraining: false, isDone: false });
    expect((await ask('/admin/drain', 'PUT', {})).body).toMatchObject({ isDraining: true, queued: { local: 0 } });
    expect(await daemon.client.problem('/readyz')).toMatchObject({
      status: 503,
      detail: expect.stringContaining('finish'),
    });
    expect((await ask('/admin/jobs/check', 'POST', {})).body).toMatchObject({ code: 'jobs/stopping' });
    node.submitLabelled({ label: 'while drained', sizeBytes: 500, hashType: 'keccak256' });
    node.mine(1);
    await eventually(async () => expect((await daemon.client.status()).content.seen).toBe(1));
    expect((await ask('/admin/drain')).body).toMatchObject({ isDraining: true, isDone: true, fetching: false });
    expect((await daemon.client.status()).content.seen).toBe(1);
    expect((await ask('/admin/drain', 'DELETE')).body).toMatchObject({ isDraining: false });
    await untilStored(daemon, 23);
    await eventually(async () => expect((await daemon.client.get('/readyz')).status).toBe(200));
  });

  test('has it rebuilt beside its work: what was put back by hand is found', async () => {
    const node = await startNode();
    const setup = { dataDir: temporaryFolder(), node };
    const daemon = await startArchiveHere(setup);
    const blob = sampleBlob('put back by hand', 400_000);
    const elsewhere = temporaryFolder();
    // Nothing is called absent before the daemon has read its folder at the start: later it does not look there by itself.
    await eventually(async () => expect((await daemon.client.blob(blob.versionHash)).status).toBe(404));
    const store = await LocalStore.open(elsewhere);
    await store.put(blob, 'replace', NEVER);
    await store.close();
    cpSync(join(elsewhere, 'blobs'), join(setup.dataDir, 'blobs'), { recursive: true });
    expect(readdirSync(join(setup.dataDir, 'blobs', blob.hashType))).not.toEqual([]);
    expect((await daemon.client.blob(blob.versionHash)).status).toBe(503);
    const rebuilt = await holdfastHere(['rebuild', '--json'], { env: environmentOf(setup) });
    expect([rebuilt.code, JSON.parse(rebuilt.stdout)]).toMatchObject([0, { folder: 1 }]);
    expect((await daemon.client.blob(blob.versionHash)).status).toBe(200);
  });
});
