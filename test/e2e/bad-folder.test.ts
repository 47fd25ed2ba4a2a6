import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { testOnLinux } from '../promised.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { environmentOf, startArchive, startArchiveHere, startNode, stop, untilStored } from './archive-process.ts';
import { countGets } from './counted-gets.ts';
import { eventually } from './eventually.ts';
import { holdfastHere } from './holdfast-here.ts';
import { coverReadOnly, MountedFolder, testWithMounts } from './mounted-folder.ts';

const MIB = 1_048_576;
const NOWHERE = { url: 'http://127.0.0.1:9' };

/** `run` on a folder that it cannot use: it ends by itself. */
const tryToRun = (dataDir: string) => holdfastHere(['run'], { env: environmentOf({ dataDir, node: NOWHERE }) });

describe('a data folder that cannot be used', () => {
  test('in use by another daemon: exit code 2, with its address and what to do', async () => {
    const dataDir = temporaryFolder();
    const first = await startArchive({ dataDir, node: NOWHERE });
    const { code, stderr } = await tryToRun(dataDir);
    expect(code).toBe(2);
    expect(stderr).toContain(
      `holdfast: The data folder ${dataDir} is in use by process ${first.pid} (${first.client.url}).`,
    );
    expect(stderr).toContain('HOLDFAST_DATA_DIR');
    expect((await first.client.get('/healthz')).status).toBe(200);
  });

  test('a file, or below one: exit code 2, which path, and what to do', async () => {
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    const below = await tryToRun(join(file, 'data', 'deep'));
    expect([below.code, below.stderr]).toEqual([2, expect.stringContaining(`cannot be made: ${file} is a file.`)]);
    const itself = await tryToRun(file);
    expect([itself.code, itself.stderr]).toEqual([2, expect.stringContaining(`The data folder ${file} is a file.`)]);
    expect(itself.stderr).toContain('Set HOLDFAST_DATA_DIR to a folder');
    for (const { stderr } of [below, itself]) expect(stderr).not.toMatch(/^\s+at /m);
  });

  test('with a catalog of a newer version: exit code 2, and it is left as it is', async () => {
    const dataDir = temporaryFolder();
    const first = await startArchiveHere({ dataDir, node: NOWHERE });
    await stop(first);
    const catalog = new Database(join(dataDir, 'catalog.sqlite'));
    catalog.prepare("INSERT INTO migration VALUES (9000, '9000_from-the-future.sql', 'x', 0)").run();
    catalog.close();
    const { code, stderr } = await tryToRun(dataDir);
    expect(code).toBe(2);
    expect(stderr).toContain('written by a newer holdfast (it has migration 9000_from-the-future.sql');
    expect(stderr).toContain('Run the newer version');
  });

  test('with a file in place of the catalog: it says which one, and the command that makes another', async () => {
    const dataDir = temporaryFolder();
    writeFileSync(join(dataDir, 'catalog.sqlite'), 'no database, but long enough to look like one. '.repeat(40));
    const { code, stderr } = await tryToRun(dataDir);
    expect(code).toBe(1);
    expect(stderr).toContain(`${join(dataDir, 'catalog.sqlite')} is not an SQLite database`);
    expect(stderr).toContain('run `holdfast rebuild`');
  });

  testWithMounts('read-only: it says so, with the path and what to do', async () => {
    const volume = new MountedFolder(8 * MIB);
    volume.setWritable(false);
    for (const dataDir of [volume.path, join(volume.path, 'data')]) {
      const { code, stderr } = await tryToRun(dataDir);
      expect(code).toBe(2);
      expect(stderr).toMatch(new RegExp(`The local store at ${dataDir} is read-only`));
      expect(stderr).toContain('Mount the data folder writable, or set HOLDFAST_DATA_DIR');
    }
  });

  testOnLinux('that nobody can make: it says so, and not that it tries again', async () => {
    const { code, stderr } = await tryToRun('/proc/holdfast/data');
    expect(code).toBe(1);
    expect(stderr).toContain('The local store at /proc/holdfast/data failed');
    expect(stderr).toContain('set HOLDFAST_DATA_DIR to another folder; then start again');
  });

  testWithMounts('read-only, where a daemon has run before: it says so as well', async () => {
    const volume = new MountedFolder(16 * MIB);
    await stop(await startArchiveHere({ dataDir: volume.path, node: NOWHERE }));
    volume.setWritable(false);
    const { code, stderr } = await tryToRun(volume.path);
    expect(code).toBe(2);
    expect(stderr).toContain('read-only');
    expect(stderr).toContain('HOLDFAST_DATA_DIR');
  });
});

describe('a data folder that fails later', () => {
  testWithMounts('becomes read-only: /readyz says so, nothing is lost, and it goes on by itself', async () => {
    const dataDir = temporaryFolder();
    const node = await startNode();
    const gets = countGets(node);
    const daemon = await startArchiveHere({ dataDir, node });
    await eventually(async () => expect((await daemon.client.readiness()).status).toBe(200));
    const cover = coverReadOnly(join(dataDir, 'blobs', '.tmp'));
    node.submitLabelled({ label: 'meanwhile', sizeBytes: 100_000, hashType: 'keccak256' });
    node.mine();
    const told = await eventually(async () => {
      const { status, conditions } = await daemon.client.readiness();
      expect({ status, count: conditions.length }).toEqual({ status: 503, count: 1 });
      return conditions[0];
    });
    expect(told?.code).toBe('storage/read-only');
    expect(told?.hint).toContain('Mount the data folder writable');
    cover.lift();
    await untilStored(daemon, 1);
    expect(gets.count).toBe(1);
    await eventually(async () => expect((await daemon.client.readiness()).status).toBe(200));
  });

  testWithMounts('is full: /readyz says so, no blob is fetched twice, and it goes on when there is room', async () => {
    const volume = new MountedFolder(10 * MIB);
    const node = await startNode();
    const gets = countGets(node);
    const blobs = Array.from({ length: 8 }, (_, index) =>
      node.submitLabelled({ label: `large ${index}`, sizeBytes: 2 * MIB, hashType: 'keccak256' }),
    );
    node.mine();
    // A daemon that runs already may get the tip before the block and the list after it: no block has these for it then,
    // and what no block has is given up where there is no room.
    const daemon = await startArchiveHere({ dataDir: volume.path, node });
    const told = await eventually(async () => {
      const { status, conditions } = await daemon.client.readiness();
      const full = conditions.find(({ code }) => code === 'storage/full');
      expect({ status, isTold: full !== undefined }).toEqual({ status: 503, isTold: true });
      return full;
    });
    expect(told?.hint).toMatch(/room|space/);
    const { content, node: seen } = await daemon.client.status();
    expect(content.stored + content.spooled).toBeLessThan(blobs.length);
    expect(seen.reachable).toBe(true);
    for (const { versionHash } of blobs) expect([200, 503]).toContain((await daemon.client.blob(versionHash)).status);

    volume.resize(64 * MIB);
    await untilStored(daemon, blobs.length);
    expect(gets.count).toBe(blobs.length);
    await eventually(async () => expect((await daemon.client.readiness()).status).toBe(200));
  });

  testWithMounts('is full: a stop is obeyed at once, and the next start goes on', async () => {
    const volume = new MountedFolder(7 * MIB);
    const node = await startNode();
    const daemon = await startArchive({ dataDir: volume.path, node });
    for (let index = 0; index < 4; index += 1) {
      node.submitLabelled({ label: `large ${index}`, sizeBytes: 2 * MIB, hashType: 'keccak256' });
    }
    node.mine();
    await daemon.says(/storage\/full/);
    // One that waits for room is cut off by its own limit, and says that instead.
    expect(await stop(daemon)).toMatchObject({ code: 143, stdout: expect.stringContaining('"msg":"stopped"') });
    volume.resize(64 * MIB);
    await untilStored(await startArchiveHere({ dataDir: volume.path, node }), 4);
  });
});

describe('a folder that belongs to another chain', () => {
  test('the daemon runs on, says so in /readyz, fetches nothing, and goes on when the right node is back', async () => {
    const dataDir = temporaryFolder();
    const ours = await startNode({ seed: 'ours', seedRecordedBlobs: true });
    await stop(await archived(dataDir, ours));
    const marker = readFileSync(join(dataDir, 'holdfast.json'), 'utf8');

    const theirs = await startNode({ seed: 'theirs' });
    const gets = countGets(theirs);
    theirs.submitLabelled({ label: 'of another chain', sizeBytes: 100, hashType: 'keccak256' });
    theirs.mine();
    const daemon = await startArchiveHere({ dataDir, node: theirs });
    const readiness = await eventually(async () => {
      const told = await daemon.client.readiness();
      expect(told).toMatchObject({ status: 503, conditions: [{ code: 'archive/other-chain' }] });
      return told;
    });
    expect(readiness.conditions[0]?.message).toContain('is on another chain');
    expect(readiness.conditions[0]?.hint).toContain('HOLDFAST_NODE_URL');
    expect(gets.count).toBe(0);
    expect((await daemon.client.status()).content).toMatchObject({ seen: 0, stored: 22 });
    expect(readFileSync(join(dataDir, 'holdfast.json'), 'utf8')).toBe(marker);

    const port = Number(new URL(theirs.url).port);
    await theirs.close();
    await startNode({ seed: 'ours', seedRecordedBlobs: true, port });
    await eventually(async () => expect((await daemon.client.readiness()).status).toBe(200));
  });
});

async function archived(dataDir: string, node: { readonly url: string }) {
  mkdirSync(dataDir, { recursive: true });
  const daemon = await startArchiveHere({ dataDir, node });
  await untilStored(daemon, 22);
  return daemon;
}
