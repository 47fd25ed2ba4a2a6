import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { sampleBytes } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { ArchiveClient } from './archive-client.ts';
import { environmentOf, PASSWORD, startNode, stop } from './archive-process.ts';
import { eventually } from './eventually.ts';
import { HoldfastProcess, holdfast } from './holdfast-process.ts';

async function startDevelopment(cwd: string): Promise<{ process: HoldfastProcess; client: ArchiveClient }> {
  const development = new HoldfastProcess(['run', '--dev', '--http-port', '0'], { cwd });
  const [, url = ''] = await development.says(/holdfast listens at (\S+)/);
  return { process: development, client: new ArchiveClient(url) };
}

test('run --dev emulates a chain, says so, archives it, and takes what is submitted', async () => {
  const cwd = temporaryFolder();
  const { process: development, client } = await startDevelopment(cwd);
  await development.says(/The chain is EMULATED/);
  await development.says(/^archived {2}[0-9a-f]{64}/m);
  await eventually(async () => expect((await client.status()).content.stored).toBeGreaterThanOrEqual(22));
  expect((await client.status()).emulated).toBe(true);
  expect((await holdfast(['status'], { cwd })).stdout).toMatch(/chain\s+emulated \(nothing of it is real\)/);

  const bytes = sampleBytes('submitted to an emulated chain', 3_000);
  writeFileSync(join(cwd, 'file'), bytes);
  const submitted = await holdfast(['submit', 'file', '--json'], { cwd });
  expect(submitted.code).toBe(0);
  const [, versionHash = ''] = /"versionHash": "([0-9a-f]{64})"/.exec(submitted.stdout) ?? [];
  await eventually(async () => expect((await client.blob(versionHash)).body.equals(bytes)).toBe(true));

  const height = (await client.status()).node.height ?? 0;
  development.kill('SIGKILL');
  await development.ended;
  const again = await startDevelopment(cwd);
  await eventually(async () => expect((await again.client.status()).node.height).toBeGreaterThanOrEqual(height));
  expect((await again.client.blob(versionHash)).body.equals(bytes)).toBe(true);
  expect(await stop(again.process, 'SIGINT')).toMatchObject({ code: 130 });
});

test('a configured node wins over the emulated one, also with --dev, and its data lie apart', async () => {
  const node = await startNode({ seedRecordedBlobs: true });
  const dataDir = temporaryFolder();
  const development = new HoldfastProcess(['run', '--dev'], { env: environmentOf({ dataDir, node }) });
  const [, url = '', folder] = await development.says(/holdfast listens at (\S+) {2}\(data in (.+)\)/);
  expect(folder).toBe(dataDir);
  const client = new ArchiveClient(url);
  await eventually(async () => expect((await client.status()).content.stored).toBe(22));
  expect((await client.status()).emulated).toBe(false);
  expect(development.output).not.toContain('EMULATED');
  expect(development.output).not.toContain(PASSWORD);
});

test('devnode is a node of its own that a daemon can archive', async () => {
  const emulated = new HoldfastProcess([
    'devnode',
    '--port',
    '0',
    '--json',
    '--recorded-blobs',
    '--blocks-every',
    'never',
  ]);
  const [, url = ''] = await emulated.says(/"url":"([^"]+)"/);
  const env = { HOLDFAST_NODE_URL: url, HOLDFAST_HTTP_PORT: '0', HOLDFAST_DATA_DIR: temporaryFolder() };
  const daemon = new HoldfastProcess(['run'], { env });
  const [, address = ''] = await daemon.says(/"url":"([^"]+)"/);
  const client = new ArchiveClient(address);
  await eventually(async () => expect((await client.status()).content.stored).toBe(22));
  expect(await stop(emulated)).toMatchObject({ code: 143, stderr: '' });
});

test('the admin port of devnode takes faults and mines on demand', async () => {
  const words = ['devnode', '--port', '0', '--admin-port', '0', '--blocks-every', 'never', '--json'];
  const node = new HoldfastProcess(words);
  const [line] = await node.says(/\{.*\}/);
  const { url, adminUrl } = z.object({ url: z.string(), adminUrl: z.string() }).parse(JSON.parse(line));
  const post = (path: string, body: unknown) =>
    fetch(`${adminUrl}${path}`, { method: 'POST', body: JSON.stringify(body) }).then((answer) => answer.status);
  const count = async () => (await holdfast(['rpc', 'getblockcount', '--node-url', url])).stdout.trim();
  const before = Number(await count());
  expect(await post('/mine', { count: 2 })).toBe(200);
  expect(Number(await count())).toBe(before + 2);
  expect(await post('/faults', { fault: { kind: 'rpc-error', code: -1, message: 'on demand' } })).toBe(200);
  expect(await holdfast(['rpc', 'getblockcount', '--node-url', url])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('on demand'),
  });
});
