import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { listBlobs } from '../../../src/storage/object-store.ts';
import { S3Store } from '../../../src/storage/s3/s3-store.ts';
import { NEVER } from '../../sample-blobs.ts';
import { describeWithServers } from '../../servers/availability.ts';
import { damage, newBucket } from '../../storage/s3/s3-fixture.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { environmentOf, startArchiveHere, startNode, stop, untilStored } from '../archive-process.ts';
import { eventually } from '../eventually.ts';
import { holdfastHere } from '../holdfast-here.ts';
import {
  expectAll,
  ipfsEnvironment,
  kuboOfTest,
  publish,
  s3Environment,
  s3OfTest,
  untilDrained,
} from './real-backends.ts';

const BLOBS = 40;
const report = z.object({
  backends: z.array(z.looseObject({ backend: z.string(), missing: z.number(), damaged: z.number(), fault: z.null() })),
  left: z.array(z.looseObject({ backend: z.string() })),
  leftCount: z.number(),
  repaired: z.number(),
});

describeWithServers('an archive that lost its catalog, a backend, and the rest here and there', () => {
  test('comes back whole with one of three backends wiped and one corrupted in every tenth object, and check exits 0', async () => {
    const [node, s3, kubo] = await Promise.all([startNode(), s3OfTest(), kuboOfTest()]);
    const { options, env } = await s3Environment(s3);
    const second = await newBucket(s3);
    const dataDir = temporaryFolder();
    const config = join(dataDir, 'config.json');
    const { bucket, endpoint, credentials } = second;
    await writeFile(
      config,
      JSON.stringify({ backends: [{ kind: 's3', id: 's3:second', bucket, endpoint, ...credentials }] }),
    );
    const setup = {
      dataDir: join(dataDir, 'data'),
      node,
      env: { ...env, ...ipfsEnvironment(kubo), HOLDFAST_CONFIG: config, HOLDFAST_REPLICAS_REQUIRED: '2' },
    };
    const daemon = await startArchiveHere(setup);
    const published = publish(node, 'rebuild', BLOBS);
    await untilStored(daemon, BLOBS);
    await untilDrained(daemon, ['s3', 's3:second', 'ipfs']);
    const check = (...words: string[]) => holdfastHere(['check', '--json', ...words], { env: environmentOf(setup) });
    const beside = await check();
    expect([beside.code, beside.stderr]).toEqual([0, '']);
    expect(report.parse(JSON.parse(beside.stdout))).toMatchObject({ left: [], leftCount: 0 });
    await stop(daemon);
    await node.close();
    const whole = await check('--read-data');
    expect(whole, whole.stderr).toMatchObject({ code: 0 });

    // One backend wiped, in another every tenth object corrupted, folder and catalog lost.
    const wiped = await S3Store.open(options);
    for await (const entry of listBlobs(wiped, NEVER)) await wiped.delete(entry, NEVER);
    await wiped.close();
    const corrupted = await S3Store.open(second);
    let index = 0;
    for await (const { hashType, versionHash, sizeBytes } of listBlobs(corrupted, NEVER)) {
      if (index % 10 === 0)
        await damage(s3, bucket, `blobs/${hashType}/${versionHash}`, Buffer.alloc(sizeBytes ?? 0, 7));
      index += 1;
    }
    await corrupted.close();
    for (const name of ['catalog.sqlite', 'catalog.sqlite-wal', 'catalog.sqlite-shm', 'blobs']) {
      await rm(join(setup.dataDir, name), { recursive: true, force: true });
    }

    const rebuilt = await holdfastHere(['rebuild'], { env: environmentOf(setup) });
    expect(rebuilt, rebuilt.stderr).toMatchObject({ code: 0 });
    const repaired = await check('--read-data', '--repair');
    expect(repaired, `${repaired.stdout}${repaired.stderr}`).toMatchObject({ code: 0 });
    const after = await check('--read-data');
    expect(after, after.stdout).toMatchObject({ code: 0 });
    expect(report.parse(JSON.parse(after.stdout))).toMatchObject({
      leftCount: 0,
      backends: ['s3', 'ipfs', 's3:second'].map((backend) => ({
        backend,
        listed: BLOBS,
        missing: 0,
        damaged: 0,
        read: BLOBS,
      })),
    });
    for (const { id, open } of [
      { id: 's3', open: () => S3Store.open(options) },
      { id: 's3:second', open: () => S3Store.open(second) },
    ]) {
      const store = await open();
      let count = 0;
      for await (const entry of listBlobs(store, NEVER)) count += (entry.sizeBytes ?? 1) > 0 ? 1 : 0;
      await store.close();
      expect([id, count]).toEqual([id, BLOBS]);
    }
    const again = await startNode();
    const served = await startArchiveHere({ ...setup, node: again });
    // 503 until each backend is let in.
    await eventually(() => expectAll(served, published));
  });

  test('lists a blob without a good copy anywhere as lost, with exit code 3 and the next command', async () => {
    const [node, s3] = await Promise.all([startNode(), s3OfTest()]);
    const { options, env } = await s3Environment(s3);
    const setup = { dataDir: temporaryFolder(), node, env: { ...env, HOLDFAST_LOCAL_MODE: 'cache' } };
    const daemon = await startArchiveHere(setup);
    const [first] = publish(node, 'lost', 5);
    await untilStored(daemon, 5);
    await stop(daemon);
    await rename(join(setup.dataDir, 'blobs'), join(setup.dataDir, 'gone'));
    const store = await S3Store.open(options);
    for await (const entry of listBlobs(store, NEVER)) {
      if (entry.versionHash === first?.versionHash) await store.delete(entry, NEVER);
    }
    await store.close();
    const found = await holdfastHere(['check'], { env: environmentOf(setup) });
    expect(found).toMatchObject({ code: 3 });
    expect(found.stdout).toContain('Next: holdfast check --repair');
    const repaired = await holdfastHere(['check', '--repair'], { env: environmentOf(setup) });
    expect(repaired, repaired.stdout).toMatchObject({ code: 3 });
    expect(repaired.stdout).toContain(`LOST    s3 blake2s256 ${first?.versionHash}`);
    expect(repaired.stdout).toContain('holdfast run');
    // The node still has it: the daemon brings it back.
    const again = await startArchiveHere(setup);
    await untilStored(again, 5);
    await stop(again);
    expect(await holdfastHere(['check', '--read-data'], { env: environmentOf(setup) })).toMatchObject({ code: 0 });
  });
});
