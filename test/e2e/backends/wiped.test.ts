import { expect, test } from 'vitest';
import { temporaryFolder } from '../../temporary-folder.ts';
import { environmentOf, startArchiveHere, startNode, untilStored } from '../archive-process.ts';
import { eventually } from '../eventually.ts';
import { holdfastHere } from '../holdfast-here.ts';
import { LyingServer } from './lying-server.ts';
import { publish, untilDrained } from './real-backends.ts';

test('a bucket that was wiped gets all of it back: blobs, records, evidence, and whose chain it is', async () => {
  const [bucket, node] = [await LyingServer.start(), await startNode()];
  const setup = { dataDir: temporaryFolder(), node, env: { ...bucket.environment, HOLDFAST_LOCAL_MODE: 'keep' } };
  const daemon = await startArchiveHere(setup);
  const [first] = publish(node, 'wiped', 6);
  await untilStored(daemon, 6);
  await untilDrained(daemon, ['s3']);
  const env = environmentOf(setup);
  expect(await holdfastHere(['withhold', first?.versionHash ?? '', '--reason', 'an order'], { env })).toMatchObject({
    code: 0,
  });
  const before = [...bucket.objects.keys()].filter(
    (key) => !key.startsWith('blobs/') || !key.includes(`${first?.versionHash}`),
  );
  expect(before.map((key) => key.split('/')[0])).toEqual(expect.arrayContaining(['holdfast.json', 'audit', 'blobs']));
  bucket.objects.clear();
  await holdfastHere(['check'], { env });
  await eventually(() => expect([...bucket.objects.keys()].sort()).toEqual(before.sort()));
  // The last object is there a moment before its copy is recorded.
  await untilDrained(daemon, ['s3']);
  const after = await holdfastHere(['check', '--read-data'], { env });
  expect(after, after.stdout).toMatchObject({ code: 0 });
});
