import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { HOUR_BLOCKS, Scene } from './archive-on-devnode.ts';

/** An archive of the whole chain that compares with its peers at no time of the day: a comparison asks them as well. */
const BEGINS_NOW = { HOLDFAST_START_HEIGHT: '0', HOLDFAST_PEER_SCHEDULE: '0 0 1 1 *' };

/** An archive that says of every blob that it has it, and gives other bytes. */
async function liar(): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.setHeader('content-type', 'application/octet-stream').end('not these');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, asked };
}

/** An archive that has the blobs, and a node whose blocks came without their bytes for an archive that begins now. */
async function archiveBefore(blobs: number, env: Readonly<Record<string, string>> = {}) {
  const elder = await Scene.create({ env });
  await elder.start();
  for (let count = 0; count < blobs; count += 1) elder.submit(300 + count);
  const here = () => {
    const { spooled, stored } = elder.archive.status().content;
    return spooled + stored === blobs;
  };
  await elder.until('every listed blob is here', here);
  elder.node.mine(1, { withoutBytes: true });
  elder.mine(1);
  await elder.caughtUp();
  return elder;
}

test('a blob that the node has not got comes from a peer while its window is open, and its record says who gave it', async () => {
  const elder = await archiveBefore(3);
  const younger = await Scene.create({
    on: elder.node,
    env: { HOLDFAST_PEERS: elder.url, ...BEGINS_NOW },
  });
  await younger.start();
  await younger.until('whole', () => younger.archive.status().content.stored === 3);
  for (const { versionHash } of elder.blobs) {
    expect(await younger.record(versionHash)).toMatchObject({ state: 'stored', givenBy: `peer ${elder.url}` });
  }
  expect(younger.archive.status().peers).toMatchObject([{ state: 'good', gave: 3, wrongBytes: 0 }]);
  expect((await elder.record(elder.blobs[0]?.versionHash ?? ''))?.givenBy).toBeNull();
  const shown = await (await fetch(`${younger.url}/v1/blobs/${elder.blobs[0]?.versionHash}/record`)).json();
  expect(shown).toMatchObject({ givenBy: 'peer peer-1' });
});

test('a peer in the file is asked with its token, and told of by its name alone', async () => {
  const folder = temporaryFolder();
  const [tokens, token, config] = ['tokens', 'token', 'holdfast.yaml'].map((name) => join(folder, name));
  if (tokens === undefined || token === undefined || config === undefined) throw new Error('three files are named');
  writeFileSync(tokens, `sha256:${createHash('sha256').update('of-the-younger').digest('hex')}\n`);
  const elder = await archiveBefore(1, { HOLDFAST_HTTP_READ_TOKENS_FILE: tokens });
  writeFileSync(token, 'of-the-younger\n');
  const peers = [{ source: elder.url, name: 'berlin', tokenFile: token, requestsPerSecond: 50 }];
  writeFileSync(config, JSON.stringify({ peers }));
  const younger = await Scene.create({
    on: elder.node,
    env: { HOLDFAST_CONFIG: config, ...BEGINS_NOW },
  });
  await younger.start();
  const hash = elder.blobs[0]?.versionHash ?? '';
  await younger.until('the peer gave it', () => younger.archive.status().content.stored === 1);
  expect(await younger.record(hash)).toMatchObject({ givenBy: 'peer berlin' });
  expect(younger.archive.status().peers).toMatchObject([{ name: 'peer berlin', state: 'good', gave: 1 }]);
  for (const path of ['v1/status', `v1/blobs/${hash}/record`, 'metrics']) {
    const said = await (await fetch(`${younger.url}/${path}`)).text();
    expect(said, path).toContain('peer berlin');
    expect(said, path).not.toMatch(/peer-1|of-the-younger/);
    expect(said, path).not.toContain(elder.url);
  }
});

test('before a blob is lost every peer answers, and one that has it makes it whole', async () => {
  const elder = await archiveBefore(2);
  elder.mine(7 * HOUR_BLOCKS);
  await elder.caughtUp();
  const younger = await Scene.create({
    on: elder.node,
    env: { HOLDFAST_PEERS: elder.url, ...BEGINS_NOW },
  });
  await younger.start();
  await younger.until('whole', () => younger.archive.status().content.stored === 2);
  expect(younger.archive.losses()).toEqual([]);
  expect(await younger.record(elder.blobs[0]?.versionHash ?? '')).toMatchObject({ givenBy: `peer ${elder.url}` });
});

test('nothing is lost while a peer does not answer', async () => {
  const elder = await archiveBefore(1);
  elder.mine(7 * HOUR_BLOCKS);
  await elder.caughtUp();
  const younger = await Scene.create({
    on: elder.node,
    env: { HOLDFAST_PEERS: 'http://127.0.0.1:9', ...BEGINS_NOW },
  });
  await younger.start();
  await younger.until('the peer is told', () => younger.conditions().includes('peer/no-answer'));
  expect(younger.archive.status().chain.lost).toBe(0);
  await younger.stop();
  // The same archive without that peer: everybody who is configured has answered now.
  await younger.start({ HOLDFAST_PEERS: '' });
  await younger.until('lost', () => younger.archive.status().chain.lost === 1);
});

test('a peer that gives wrong bytes harms no archive, is told, and is left alone', async () => {
  const elder = await archiveBefore(3);
  const { url, asked } = await liar();
  const younger = await Scene.create({
    on: elder.node,
    env: { HOLDFAST_PEERS: `${url} ${elder.url}`, ...BEGINS_NOW },
  });
  await younger.start();
  await younger.until('whole', () => younger.archive.status().content.stored === 3);
  expect(younger.conditions()).toContain('peer/wrong-bytes');
  expect(younger.archive.status().peers).toMatchObject([
    { state: 'left-alone', gave: 0, wrongBytes: 1 },
    { state: 'good', gave: 3 },
  ]);
  // One blob, asked for twice: the first copy may have been damaged on its way.
  expect(asked).toHaveLength(2);
  for (const { versionHash, bytes } of elder.blobs) {
    const reply = await fetch(`${younger.url}/v1/blobs/${versionHash}`);
    expect(new Uint8Array(await reply.arrayBuffer())).toEqual(new Uint8Array(bytes));
  }
});
