import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../temporary-folder.ts';
import {
  type ArchiveSetup,
  environmentOf,
  startArchiveHere,
  startNode,
  stop,
  untilStored,
} from '../archive-process.ts';
import { holdfastHere } from '../holdfast-here.ts';
import { LyingServer } from './lying-server.ts';
import { expectAll, publish, untilDrained } from './real-backends.ts';

const BLOBS = 10;

async function storedAt(server: LyingServer) {
  const node = await startNode();
  const at = ({ environment }: LyingServer): ArchiveSetup => {
    return { dataDir, node, env: { ...environment, HOLDFAST_LOCAL_MODE: 'cache' } };
  };
  const dataDir = temporaryFolder();
  const daemon = await startArchiveHere(at(server));
  const published = publish(node, 'another place', BLOBS);
  await untilStored(daemon, BLOBS);
  await untilDrained(daemon, ['s3']);
  await stop(daemon);
  return { dataDir, at, published };
}

test('the settings name another bucket: nothing of it is claimed before it is there, and it is filled', async () => {
  const [first, second] = [await LyingServer.start(), await LyingServer.start()];
  const { at, published } = await storedAt(first);
  second.lie = '500';
  const moved = await startArchiveHere(at(second));
  const { content, conditions } = await moved.client.status();
  expect(content).toMatchObject({ stored: 0, spooled: BLOBS });
  expect(conditions.map(({ code }) => code)).toContain('backend/another-place');
  await expectAll(moved, published);
  second.lie = null;
  await untilStored(moved, BLOBS);
  const blobs = ({ objects }: LyingServer) => [...objects.keys()].filter((key) => key.startsWith('blobs/')).sort();
  expect(blobs(second)).toEqual(blobs(first));
  await expectAll(moved, published);
});

test('the same bytes under another address are found there, when no other place has them', async () => {
  const [first, second] = [await LyingServer.start(), await LyingServer.start()];
  const { dataDir, at, published } = await storedAt(first);
  for (const [key, bytes] of first.objects) second.objects.set(key, bytes);
  await rm(join(dataDir, 'blobs'), { recursive: true });
  const daemon = await startArchiveHere(at(second));
  await untilStored(daemon, BLOBS);
  await expectAll(daemon, published);
  expect(second.puts).toBe(0);
});

test('two names for one place are refused: its copy would count twice', async () => {
  const path = join(temporaryFolder(), 'config.json');
  const endpoint = 'http://127.0.0.1:9/';
  await writeFile(path, JSON.stringify({ backends: [{ kind: 's3', id: 's3:again', endpoint, bucket: 'one' }] }));
  const env = { HOLDFAST_S3_ENDPOINT: 'http://127.0.0.1:9', HOLDFAST_S3_BUCKET: 'one', HOLDFAST_CONFIG: path };
  const setup = { dataDir: temporaryFolder(), node: { url: 'http://127.0.0.1:9' }, env };
  const { code, stderr } = await holdfastHere(['run'], { env: environmentOf(setup) });
  expect(code).toBe(2);
  expect(stderr).toContain('The backends s3 and s3:again are one place: http://127.0.0.1:9/one.');
});
