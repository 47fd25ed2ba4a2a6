import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LyingServer } from '../e2e/backends/lying-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { Scene, type SceneBlob } from './archive-on-devnode.ts';

const SMALL = { maxBlobBytes: '1KiB' };
const SAYS = 'Only blobs of at most 1024 bytes are replicated there.';

/** A bucket for every blob and one for some of them, named in a configuration file as a user writes it. */
function configured(all: LyingServer, some: LyingServer, rule: object, extra: object = {}): Record<string, string> {
  const path = join(temporaryFolder(), 'config.json');
  const keys = { accessKeyId: 'key', secretAccessKey: 'secret' };
  const backends = [
    { kind: 's3', id: 'all', endpoint: all.endpoint, bucket: 'all', ...keys },
    { kind: 's3', id: 'some', endpoint: some.endpoint, bucket: 'some', ...keys, ...rule },
  ];
  writeFileSync(path, JSON.stringify({ local: { mode: 'cache' }, finality: 'depth:1', backends, ...extra }));
  return { HOLDFAST_CONFIG: path };
}

const within = ({ objects }: LyingServer, folder: string) =>
  [...objects.keys()].filter((key) => key.startsWith(`${folder}/`));
const holds = (server: LyingServer, { versionHash }: SceneBlob) =>
  within(server, 'blobs').some((key) => key.endsWith(versionHash));

async function copies(scene: Scene, { versionHash }: SceneBlob) {
  const record = await scene.record(versionHash);
  const states = Object.fromEntries((record?.replicas ?? []).map(({ backend, state }) => [backend, state]));
  return { state: record?.state, all: states['all'], some: states['some'] };
}

const idle = (scene: Scene) =>
  scene.until('nothing is queued', () => scene.archive.status().backends.every(({ queued }) => queued === 0));

async function sceneOfTwo() {
  const [all, some, scene] = [await LyingServer.start(), await LyingServer.start(), await Scene.create()];
  await scene.start(configured(all, some, SMALL));
  const [large, small] = [scene.submit(5_000), scene.submit(500)];
  scene.mine(3);
  await scene.caughtUp();
  await scene.finalUpTo(scene.node.chain.tip.height - 1);
  await idle(scene);
  return { all, some, scene, large, small };
}

test('a bucket gets what its rule takes and every record, and the other blobs are stored without it', async () => {
  const { all, some, scene, large, small } = await sceneOfTwo();
  expect(await copies(scene, small)).toEqual({ state: 'stored', all: 'good', some: 'good' });
  expect(await copies(scene, large)).toEqual({ state: 'stored', all: 'good', some: 'not-replicated-by-rule' });
  expect([holds(some, small), holds(some, large), holds(all, large)]).toEqual([true, false, true]);
  await scene.until(
    'records',
    () => within(some, 'occurrences').length === 2 && within(all, 'occurrences').length === 2,
  );
  const { backends, content, conditions, chain } = scene.archive.status();
  expect(backends.map(({ id, queued, damaged, rule }) => [id, queued, damaged, rule])).toEqual([
    ['all', 0, 0, null],
    ['some', 0, 0, SAYS],
  ]);
  expect([content.spooled, content.atRisk, chain.lost, conditions]).toEqual([0, 0, 0, []]);
  const answer = await (await fetch(`${scene.url}/v1/blobs/${large.versionHash}/record`)).json();
  const leftOut = { backend: 'some', state: 'not-replicated-by-rule', verifiedAt: null, lastFailure: null };
  expect(answer).toMatchObject({ replicas: expect.arrayContaining([leftOut]) });
  const listed = await (await fetch(`${scene.url}/v1/blobs`)).json();
  expect(JSON.stringify(listed)).toContain('not-replicated-by-rule');
  const window = await (await fetch(`${scene.url}/v1/window`)).json();
  const tally = expect.objectContaining({ backend: 'some', good: 1, wanted: 0, damaged: 0 });
  expect(window).toMatchObject({ backends: expect.arrayContaining([tally]) });
  const metrics = await (await fetch(`${scene.url}/metrics`)).text();
  expect(metrics).toMatch(/^holdfast_backend_queue_blobs\{backend="some"\} 0$/m);
});

test('a looser rule brings the others there; under a stricter one they stay, and new ones do not come', async () => {
  const { all, some, scene, large } = await sceneOfTwo();
  await scene.stop();
  await scene.start(configured(all, some, { maxBlobBytes: '8KiB' }));
  await scene.until('brought there', () => holds(some, large));
  await idle(scene);
  await scene.until('read back', async () => (await copies(scene, large)).some === 'good');
  await scene.stop();
  await scene.start(configured(all, some, SMALL));
  const another = scene.submit(5_000);
  scene.mine(3);
  await scene.caughtUp();
  await idle(scene);
  expect(await copies(scene, large)).toEqual({ state: 'stored', all: 'good', some: 'good' });
  expect(await copies(scene, another)).toMatchObject({ state: 'stored', some: 'not-replicated-by-rule' });
  expect([holds(some, large), holds(some, another)]).toEqual([true, false]);
});

test('a catalog that is made again from both takes what a rule left out for neither missing nor lost', async () => {
  const { some, scene, large, small, all } = await sceneOfTwo();
  await scene.stop();
  for (const end of ['', '-wal', '-shm']) rmSync(join(scene.dataDir, `catalog.sqlite${end}`), { force: true });
  await scene.start(configured(all, some, SMALL));
  await scene.until('found again', async () => (await copies(scene, small)).some === 'good');
  await scene.caughtUp();
  await idle(scene);
  await scene.until('rebuilt', () => !scene.conditions().includes('catalog/rebuilding'));
  expect(await copies(scene, large)).toMatchObject({ state: 'stored', all: 'good', some: 'not-replicated-by-rule' });
  expect([holds(some, large), scene.archive.status().chain.lost, scene.conditions()]).toEqual([false, 0, []]);
});

test('the start is refused where too few backends take every blob, with what to do', async () => {
  const [all, some, scene] = [await LyingServer.start(), await LyingServer.start(), await Scene.create()];
  const env = configured(all, some, SMALL, { replicas: { required: 2 } });
  await expect(scene.start(env)).rejects.toMatchObject({
    code: 'config/invalid',
    message:
      'HOLDFAST_REPLICAS_REQUIRED is 2; backends that count for every blob: 1 (all). A rule leaves blobs out at some.',
  });
});
