import { afterAll, beforeAll, expect, test } from 'vitest';
import { listBlobs } from '../../../src/storage/object-store.ts';
import { S3Store } from '../../../src/storage/s3/s3-store.ts';
import { readWhole } from '../../read-whole.ts';
import { NEVER } from '../../sample-blobs.ts';
import { HOUR_BLOCKS, nameOf, Scene } from '../../scenario/archive-on-devnode.ts';
import { describeWithServers, SERVER_START_MS } from '../../servers/availability.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';
import { s3Environment } from './real-backends.ts';

describeWithServers('a backend that is killed in the middle', () => {
  let s3: S3Server;
  beforeAll(async () => {
    s3 = await startS3Server();
  }, SERVER_START_MS);
  afterAll(() => s3?.stop());

  test('is there again an hour of the chain later: nothing is lost, and its queue is empty', async () => {
    const scene = await Scene.create({ time: 'real' });
    const { options, env } = await s3Environment(s3);
    await scene.start({ ...env, HOLDFAST_LOCAL_MODE: 'cache' });
    const mined = scene.mine(4, 3);
    await scene.caughtUp();
    scene.mine(1, 6);
    await s3.kill();
    mined.push(...scene.mine(HOUR_BLOCKS, 3));
    const waits = () => {
      const { seen, spooled } = scene.archive.status().content;
      return seen === 0 && spooled >= 3 * HOUR_BLOCKS;
    };
    await scene.until('everything of that hour is here', waits);
    expect(scene.archive.status()).toMatchObject({ chain: { lost: 0 } });
    await scene.until('somebody is told', () => scene.conditions().includes('storage/unreachable'));
    for (const { versionHash } of mined.slice(-5)) {
      expect((await readWhole(scene.archive, nameOf(versionHash), NEVER)).kind).toBe('found');
    }
    await s3.resume();
    await scene.caughtUp();
    await scene.until('drained', () => scene.archive.status().backends.every(({ queued }) => queued === 0));
    expect(scene.archive.status()).toMatchObject({
      content: { stored: scene.blobs.length, spooled: 0, seen: 0 },
      chain: { lost: 0 },
    });
    await scene.stop();
    const store = await S3Store.open(options);
    const listed = new Set<string>();
    for await (const { versionHash } of listBlobs(store, NEVER)) listed.add(versionHash);
    await store.close();
    expect([...listed].sort()).toEqual(scene.blobs.map(({ versionHash }) => versionHash).sort());
  });
});
