import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../temporary-folder.ts';
import { environmentOf, startArchiveHere, startNode, untilStored } from '../archive-process.ts';
import { eventually } from '../eventually.ts';
import { holdfastHere } from '../holdfast-here.ts';
import { LIES, LyingServer } from './lying-server.ts';
import { expectAll, publish } from './real-backends.ts';

test.each(LIES)('a backend that does this is never believed, and delays no other: %s', async (lie) => {
  const [liar, honest, node] = await Promise.all([LyingServer.start(), LyingServer.start(), startNode()]);
  const env = {
    HOLDFAST_S3_ENDPOINT: liar.endpoint,
    HOLDFAST_S3_BUCKET: 'liar',
    HOLDFAST_S3_ACCESS_KEY_ID: 'key',
    HOLDFAST_S3_SECRET_ACCESS_KEY: 'secret',
    HOLDFAST_LOCAL_MODE: 'cache',
    HOLDFAST_REPLICAS_REQUIRED: '2',
    HOLDFAST_CONFIG: await configFor(honest),
  };
  const daemon = await startArchiveHere({ dataDir: temporaryFolder(), node, env });
  liar.lie = lie;
  const published = publish(node, `lie ${lie}`, 6);
  const goodAt = async (backend: string) => {
    const records = await Promise.all(published.map(({ versionHash }) => daemon.client.record(versionHash)));
    return records.filter(({ replicas }) => replicas.some((one) => one.backend === backend && one.state === 'good'));
  };
  await eventually(async () => expect(await goodAt('s3:honest')).toHaveLength(6));
  await eventually(() => expect(liar.puts).toBeGreaterThanOrEqual(6));
  if (lie !== 'hang') {
    await eventually(async () => {
      const { conditions } = await daemon.client.status();
      expect(conditions.filter(({ message }) => message.includes('s3 store'))).not.toEqual([]);
    });
  }
  expect(await goodAt('s3')).toEqual([]);
  expect(await daemon.client.status()).toMatchObject({ content: { stored: 0, spooled: 6, seen: 0 } });
  await expectAll(daemon, published);

  if (lie === 'hang') return;
  liar.lie = null;
  await untilStored(daemon, 6);
  await expectAll(daemon, published);
});

test('a backend whose listing is late: nothing is called missing that it gives, nothing stored that it has not got', async () => {
  const [server, node] = [await LyingServer.start(), await startNode()];
  const setup = {
    dataDir: temporaryFolder(),
    node,
    env: {
      HOLDFAST_S3_ENDPOINT: server.endpoint,
      HOLDFAST_S3_BUCKET: 'late',
      HOLDFAST_S3_ACCESS_KEY_ID: 'key',
      HOLDFAST_S3_SECRET_ACCESS_KEY: 'secret',
      HOLDFAST_LOCAL_MODE: 'cache',
    },
  };
  server.listsOnly = new Set();
  const daemon = await startArchiveHere(setup);
  const published = publish(node, 'late', 6);
  await untilStored(daemon, 6);
  // Through the running daemon: what is not listed is asked for by name.
  const late = await holdfastHere(['check'], { env: environmentOf(setup) });
  expect(late, late.stdout + late.stderr).toMatchObject({ code: 0 });
  expect(await daemon.client.status()).toMatchObject({ content: { stored: 6 } });
  // Listed, and not there any more.
  server.listsOnly = null;
  const [key = ''] = [...server.objects.keys()].filter((one) => one.startsWith('blobs/'));
  server.objects.delete(key);
  server.stillLists.set(key, 100);
  // Else it could be back before the check ends.
  server.takesNothing = true;
  const lied = await holdfastHere(['check', '--read-data'], { env: environmentOf(setup) });
  expect(lied, lied.stdout).toMatchObject({ code: 3 });
  server.takesNothing = false;
  await eventually(() => expect(server.objects.has(key)).toBe(true));
  await expectAll(daemon, published);
});

async function configFor({ endpoint }: LyingServer): Promise<string> {
  const path = `${temporaryFolder()}/config.json`;
  const backend = {
    kind: 's3',
    id: 's3:honest',
    endpoint,
    bucket: 'honest',
    accessKeyId: 'key',
    secretAccessKey: 'secret',
  };
  await writeFile(path, JSON.stringify({ backends: [backend] }));
  return path;
}
