import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { parseBlockHash } from '../../../src/core/blob/ids.ts';
import { markerText } from '../../../src/storage/chain-binding.ts';
import { NEVER } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { environmentOf, startArchiveHere, startNode, stop, untilStored } from '../archive-process.ts';
import { holdfastHere } from '../holdfast-here.ts';
import type { Ended } from '../holdfast-process.ts';
import { LyingServer } from './lying-server.ts';
import { publish, untilDrained } from './real-backends.ts';

const OTHER_CHAIN = parseBlockHash('ab'.repeat(32));

async function configured(content: unknown, folder = temporaryFolder()): Promise<string> {
  const path = join(folder, 'config.json');
  await writeFile(path, JSON.stringify(content));
  return path;
}

function backend(server: LyingServer, id = 's3:one', more: Readonly<Record<string, unknown>> = {}) {
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
  return { kind: 's3', id, endpoint: server.endpoint, bucket: 'bucket', ...credentials, ...more };
}

/** No node answers there: none of this needs one. */
const NO_NODE = { url: 'http://127.0.0.1:9' };

async function refusal(env: Record<string, string>, words = ['run'], dataDir = temporaryFolder()): Promise<Ended> {
  return await holdfastHere(words, { env: environmentOf({ dataDir, node: NO_NODE, env }) });
}

describe('a configuration of backends that cannot work ends with exit code 2 and a sentence', () => {
  test('more replicas are required than backends count', async () => {
    const server = await LyingServer.start();
    const config = await configured({ backends: [backend(server)] });
    const ended = await refusal({ HOLDFAST_CONFIG: config, HOLDFAST_REPLICAS_REQUIRED: '2' });
    expect(ended, ended.stderr).toMatchObject({ code: 2 });
    expect(ended.stderr).toContain('HOLDFAST_REPLICAS_REQUIRED is 2; backends that count for every blob: 1 (s3:one)');
  });

  test.each(['31 february', '61 * * * *', '0 0 31 2 *'])('a schedule that never comes: %s', async (schedule) => {
    const ended = await refusal({ HOLDFAST_SCRUB_SCHEDULE: schedule });
    expect(ended, ended.stderr).toMatchObject({ code: 2 });
    expect(ended.stderr).toContain('HOLDFAST_SCRUB_SCHEDULE');
  });

  test('a secret by file and by value, by an unreadable file, and half of the credentials', async () => {
    const server = await LyingServer.start();
    const cases = [
      { more: { secretAccessKeyFile: '/nowhere/secret' }, says: 'has its secret twice' },
      { more: { secretAccessKey: null, secretAccessKeyFile: '/nowhere/secret' }, says: 'cannot be read' },
      { more: { secretAccessKey: null }, says: 'one half of its credentials' },
    ];
    for (const { more, says } of cases) {
      const ended = await refusal({
        HOLDFAST_CONFIG: await configured({ backends: [backend(server, 's3:one', more)] }),
      });
      expect(ended, ended.stderr).toMatchObject({ code: 2 });
      expect(ended.stderr).toContain(says);
    }
  });

  test('a backend of another chain than the data folder, for every command', async () => {
    const [server, node] = [await LyingServer.start(), await startNode()];
    const dataDir = temporaryFolder();
    const first = await startArchiveHere({ dataDir, node });
    publish(node, 'bound', 1);
    await untilStored(first, 1);
    await stop(first);
    server.objects.set('holdfast.json', Buffer.from(markerText('holdfast', OTHER_CHAIN)));
    const env = { HOLDFAST_CONFIG: await configured({ backends: [backend(server)] }) };
    // A start asks a backend for three seconds which chain is its own, and this process may be starved for longer.
    const limits = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(NEVER);
    onTestFinished(() => limits.mockRestore());
    for (const words of [['run'], ['check'], ['rebuild']]) {
      const ended = await refusal(env, words, dataDir);
      expect(ended, `${words}: ${ended.stderr}`).toMatchObject({ code: 2 });
      expect(ended.stderr).toContain(`The s3:one store belongs to the chain whose first block is ${OTHER_CHAIN}`);
    }
    expect([...server.objects.keys()]).toEqual(['holdfast.json']);
  });

  test('backends of two chains, though the data folder belongs to none yet', async () => {
    const [one, two] = [await LyingServer.start(), await LyingServer.start()];
    one.objects.set('holdfast.json', Buffer.from(markerText('holdfast', OTHER_CHAIN)));
    two.objects.set('holdfast.json', Buffer.from(markerText('holdfast', parseBlockHash('cd'.repeat(32)))));
    const env = { HOLDFAST_CONFIG: await configured({ backends: [backend(one, 's3:one'), backend(two, 's3:two')] }) };
    const ended = await refusal(env, ['rebuild']);
    expect(ended, ended.stderr).toMatchObject({ code: 2 });
    expect(ended.stderr).toContain('The backends belong to different chains');
  });
});

test('a secret of the list comes from its file', async () => {
  const [server, node] = [await LyingServer.start(), await startNode()];
  const folder = temporaryFolder();
  const secretAccessKeyFile = join(folder, 'secret');
  await writeFile(secretAccessKeyFile, 'secret-of-the-file\n');
  const one = backend(server, 's3:one', { secretAccessKey: null, secretAccessKeyFile });
  const daemon = await startArchiveHere({
    dataDir: temporaryFolder(),
    node,
    env: { HOLDFAST_CONFIG: await configured({ backends: [one] }, folder) },
  });
  publish(node, 'by file', 3);
  await untilStored(daemon, 3);
  await untilDrained(daemon, ['s3:one']);
  expect(daemon.output).not.toContain('secret-of-the-file');
});
