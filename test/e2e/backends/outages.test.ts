import { expect, test } from 'vitest';
import { listBlobs } from '../../../src/storage/object-store.ts';
import { S3Store } from '../../../src/storage/s3/s3-store.ts';
import { NEVER, nameOf } from '../../sample-blobs.ts';
import { describeWithServers } from '../../servers/availability.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startArchiveHere, startNode, stop, untilStored } from '../archive-process.ts';
import { eventually } from '../eventually.ts';
import {
  expectAll,
  ipfsEnvironment,
  kuboOfTest,
  publish,
  s3Environment,
  s3OfTest,
  untilDrained,
} from './real-backends.ts';

describeWithServers('backends that come and go', () => {
  test('one is killed in the middle and comes back: nothing is lost, its queue drains, the other went on', async () => {
    const [node, s3, kubo] = await Promise.all([startNode(), s3OfTest(), kuboOfTest()]);
    const { options, env } = await s3Environment(s3);
    const dataDir = temporaryFolder();
    const daemon = await startArchiveHere({ dataDir, node, env: { ...env, ...ipfsEnvironment(kubo) } });
    const before = publish(node, 'before the outage', 20);
    await untilStored(daemon, 20);
    await s3.kill();
    const during = publish(node, 'during the outage', 20);
    await untilStored(daemon, 40);
    await untilDrained(daemon, ['ipfs']);
    await expectAll(daemon, [...before, ...during]);
    await eventually(async () => {
      const { conditions } = await daemon.client.status();
      expect(
        conditions.map(({ code }) => code),
        JSON.stringify(conditions),
      ).toContain('storage/unreachable');
    });
    await s3.resume();
    await untilDrained(daemon, ['s3', 'ipfs']);
    const store = await S3Store.open(options);
    let listed = 0;
    for await (const entry of listBlobs(store, NEVER)) if (nameOf(entry).versionHash !== '') listed += 1;
    await store.close();
    expect(listed).toBe(40);
    expect(await stop(daemon)).toMatchObject({ code: 143 });
  });

  test('stored needs as many as are required, configured now: more required, it is spooled; a new backend is filled', async () => {
    const [node, s3, kubo] = await Promise.all([startNode(), s3OfTest(), kuboOfTest()]);
    const { env } = await s3Environment(s3);
    const dataDir = temporaryFolder();
    const first = await startArchiveHere({ dataDir, node, env });
    const published = publish(node, 'requirements', 12);
    await untilStored(first, 12);
    await untilDrained(first, ['s3']);
    await stop(first);

    await kubo.kill();
    const required = { ...env, ...ipfsEnvironment(kubo), HOLDFAST_REPLICAS_REQUIRED: '2' };
    const second = await startArchiveHere({ dataDir, node, env: required });
    expect(await second.client.status()).toMatchObject({ content: { stored: 0, spooled: 12 } });
    await expectAll(second, published);
    await kubo.resume();
    await untilStored(second, 12);
    const [{ versionHash } = { versionHash: '' }] = published;
    const { replicas } = await second.client.record(versionHash);
    expect(replicas.filter(({ state }) => state === 'good').map(({ backend }) => backend)).toEqual(['ipfs', 's3']);
    await stop(second);

    const without = await startArchiveHere({ dataDir, node, env: ipfsEnvironment(kubo) });
    expect(await without.client.status()).toMatchObject({ content: { stored: 12, spooled: 0 } });
    await stop(without);
    const both = await startArchiveHere({ dataDir, node, env: required });
    expect(await both.client.status()).toMatchObject({ content: { stored: 12 } });
  });

  test('a cache of one MiB, two required, one dead: it gives way, and ingest never stops', async () => {
    const [node, s3, kubo] = await Promise.all([startNode(), s3OfTest(), kuboOfTest()]);
    const { env } = await s3Environment(s3);
    const limits = { HOLDFAST_REPLICAS_REQUIRED: '2', HOLDFAST_LOCAL_MODE: 'cache', HOLDFAST_LOCAL_BYTES: '1048576' };
    await kubo.kill();
    const daemon = await startArchiveHere({
      dataDir: temporaryFolder(),
      node,
      env: { ...env, ...ipfsEnvironment(kubo), ...limits },
    });
    const published = publish(node, 'no room', 60);
    // Before the list is read, nothing is queued either.
    await eventually(async () => {
      expect(await daemon.client.status()).toMatchObject({ content: { seen: 0, spooled: 60, stored: 0 } });
    });
    await untilDrained(daemon, ['s3']);
    await expectAll(daemon, published);
    await kubo.resume();
    await untilStored(daemon, 60);
    await expectAll(daemon, published);
  });
});
