import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listDocuments, readText } from '../../../src/storage/object-store.ts';
import type { S3Options } from '../../../src/storage/s3/s3-options.ts';
import { S3Store } from '../../../src/storage/s3/s3-store.ts';
import { NEVER } from '../../sample-blobs.ts';
import { describeWithServers, SERVER_START_MS } from '../../servers/availability.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { type RunningArchive, startArchive, startArchiveHere, startNode, untilStored } from '../archive-process.ts';
import { expectAll, type Published, publish, s3Environment, untilDrained } from '../backends/real-backends.ts';
import { eventually } from '../eventually.ts';

const WAIT_MS = 120_000;

/** Every occurrence record in the bucket, by its path, as a hash of its bytes. */
async function recordsIn(options: S3Options): Promise<Map<string, string>> {
  const store = await S3Store.open(options);
  const records = new Map<string, string>();
  for await (const { path } of listDocuments(store, 'occurrences/', NEVER)) {
    const document = await readText(store, path, NEVER);
    records.set(
      path,
      createHash('sha256')
        .update(document ?? '')
        .digest('hex'),
    );
  }
  await store.close();
  return records;
}

describeWithServers('two archivers on one bucket', () => {
  let s3: S3Server;
  beforeAll(async () => {
    s3 = await startS3Server();
  }, SERVER_START_MS);
  afterAll(async () => {
    await s3.stop();
  });

  test('one is the standby of the other: each is killed in turn, nothing is missing, and both wrote the same records', async () => {
    const node = await startNode();
    const { options, env } = await s3Environment(s3);
    const settings = { ...env, HOLDFAST_FINALITY: 'depth:2', HOLDFAST_START_HEIGHT: '1' };
    const folders = [temporaryFolder(), temporaryFolder()] as const;
    const setupOf = (which: 0 | 1) => ({ dataDir: folders[which], node, env: settings });
    const published: Published[] = [];
    const round = async (label: string, running: readonly RunningArchive[]) => {
      published.push(...publish(node, label, 6));
      node.mine(3);
      for (const one of running) await untilStored(one, published.length);
    };
    const kill = async (daemon: RunningArchive) => {
      daemon.kill('SIGKILL');
      await daemon.ended;
    };

    const first = await startArchive(setupOf(0));
    const second = await startArchive(setupOf(1));
    await round('both', [first, second]);
    await kill(first);
    await round('without the first', [second]);
    const firstAgain = await startArchiveHere(setupOf(0));
    await untilStored(firstAgain, published.length);
    await kill(second);
    await round('without the second', [firstAgain]);
    const secondAgain = await startArchiveHere(setupOf(1));
    await untilStored(secondAgain, published.length);
    await round('both again', [firstAgain, secondAgain]);

    for (const one of [firstAgain, secondAgain]) {
      await untilDrained(one, ['s3'], WAIT_MS);
      await expectAll(one, published);
      const { conditions } = await one.client.status();
      expect(conditions.map(({ code }) => code)).not.toContain('archive/damaged-copy');
    }
    const together = await eventually(async () => {
      const records = await recordsIn(options);
      expect(records.size).toBe(published.length);
      return records;
    });

    // One alone, on a bucket of its own, writes the very same bytes.
    const alone = await s3Environment(s3);
    const third = await startArchiveHere({
      dataDir: temporaryFolder(),
      node,
      env: { ...settings, HOLDFAST_S3_BUCKET: alone.options.bucket },
    });
    await untilStored(third, published.length);
    await eventually(async () => expect(await recordsIn(alone.options)).toEqual(together));
  });
});
