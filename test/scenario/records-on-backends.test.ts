import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Catalog } from '../../src/catalog/catalog.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { MIGRATIONS } from '../catalog/catalog-in-folder.ts';
import { LyingServer } from '../e2e/backends/lying-server.ts';
import { holdfastHere } from '../e2e/holdfast-here.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { Scene } from './archive-on-devnode.ts';

const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };

/** The settings of some S3 backends, of which each has a name. */
function backends(endpoints: Readonly<Record<string, string>>): Record<string, string> {
  const path = join(temporaryFolder(), 'config.json');
  const list = Object.entries(endpoints).map(([id, endpoint]) => ({
    kind: 's3',
    id,
    endpoint,
    bucket: id,
    ...credentials,
  }));
  writeFileSync(path, JSON.stringify({ backends: list }));
  return { HOLDFAST_CONFIG: path, HOLDFAST_LOCAL_MODE: 'keep' };
}

const recordsIn = ({ objects }: LyingServer) =>
  [...objects.keys()].filter((key) => key.startsWith('occurrences/')).sort();

describe('occurrence records', () => {
  test('a backend that is away delays no other; when it comes, and when one is added, it gets the earlier ones', async () => {
    const [first, second] = [await LyingServer.start(), await LyingServer.start()];
    const scene = await Scene.create();
    await scene.start(backends({ good: first.endpoint, away: 'http://127.0.0.1:9' }));
    scene.mine(6, 2);
    await scene.finalUpTo(125);
    await scene.until('written where it can be', () => recordsIn(first).length >= 10);
    await scene.stop();
    // Now it answers, a third one is there, and the first is configured no more.
    await scene.start(backends({ away: second.endpoint }));
    scene.mine(2, 1);
    await scene.finalUpTo(127);
    await scene.until('the earlier ones, too', () => recordsIn(second).length >= 13);
    for (const key of recordsIn(first)) expect(second.objects.get(key), key).toEqual(first.objects.get(key));
    await scene.stop();
    // Configured again, it gets what it has missed.
    await scene.start(backends({ good: first.endpoint, away: second.endpoint }));
    await scene.until('all of them', () => recordsIn(first).length >= recordsIn(second).length);
    expect(recordsIn(first)).toEqual(recordsIn(second));
  });

  test('a record that has left a backend is found by check, and written again', async () => {
    const server = await LyingServer.start();
    const scene = await Scene.create();
    const env = backends({ good: server.endpoint });
    await scene.start(env);
    scene.mine(4, 3);
    await scene.finalUpTo(123);
    await scene.until('written', () => recordsIn(server).length >= 9);
    await scene.caughtUp();
    await scene.until('on the backend', () => scene.archive.status().backends.every(({ queued }) => queued === 0));
    await scene.stop();
    const before = recordsIn(server);
    const check = () =>
      holdfastHere(['check', '--backend', 'good'], { env: { ...env, HOLDFAST_DATA_DIR: scene.dataDir } });
    expect(await check()).toMatchObject({ code: 0 });
    for (const gone of [before[0], before[5], before.at(-1)]) server.objects.delete(gone ?? '');
    const found = await check();
    expect(found, found.stdout + found.stderr).toMatchObject({ code: 3 });
    expect(found.stdout).toContain('good: 3 records are missing there; holdfast run writes what is missing');
    // The records are queued now, and missing all the same.
    expect(await check()).toMatchObject({ code: 3, stdout: expect.stringContaining('good: 3 records are missing') });
    await scene.start(env);
    await scene.until('there again', () => recordsIn(server).length >= before.length);
    await scene.stop();
    expect(recordsIn(server)).toEqual(before);
    expect(await check()).toMatchObject({ code: 0 });
  });

  test('one that cannot be made keeps none of the others from being written, and comes from where it is', async () => {
    const server = await LyingServer.start();
    const scene = await Scene.create();
    const env = backends({ good: server.endpoint });
    await scene.start(env);
    scene.mine(5, 1);
    scene.mine(2);
    await scene.finalUpTo(126);
    await scene.until('written', () => recordsIn(server).length >= 5);
    await scene.stop();
    // The archive's own folder lost them all, the bucket one of them, and no node gives blocks.
    const [lost = '', ...kept] = recordsIn(server);
    server.objects.delete(lost);
    rmSync(join(scene.dataDir, 'occurrences'), { recursive: true });
    const catalog = Catalog.open({
      path: join(scene.dataDir, 'catalog.sqlite'),
      migrationsFolder: MIGRATIONS,
      backends: ['local', 'good'],
      replicasRequired: 1,
      clock: SYSTEM_CLOCK,
    });
    for (const store of ['local', 'good']) {
      const written = catalog.records.due(store, { height: -1, transactionIndex: -1 }, 1_000, 100);
      catalog.records.recordWritten(store, written);
    }
    const places = catalog.page('oldest', null, 10).flatMap((one) => catalog.chain.occurrences(one, null, 1));
    catalog.records.requeue('local', places);
    catalog.close();
    await scene.start({ ...env, HOLDFAST_NODE_URL: 'http://127.0.0.1:9' });
    await scene.until('those that are somewhere', () => kept.every((key) => existsSync(join(scene.dataDir, key))));
    await scene.until('told', () => scene.archive.status().conditions.some(({ code }) => code.startsWith('node/')));
    for (const key of kept) expect(readFileSync(join(scene.dataDir, key))).toEqual(server.objects.get(key));
    expect(existsSync(join(scene.dataDir, lost))).toBe(false);
    await scene.stop();
    await scene.start(env);
    await scene.until('made again from its block', () => existsSync(join(scene.dataDir, lost)));
  });
});
