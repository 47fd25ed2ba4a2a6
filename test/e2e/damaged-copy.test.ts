import { readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import type { Devnode } from '../../src/devnode/index.ts';
import { beforeAllSharing } from '../cleanup.ts';
import { sampleBytes } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type RunningArchive, startArchiveHere, startNode, stop, untilStored } from './archive-process.ts';
import { countGets } from './counted-gets.ts';
import { eventually } from './eventually.ts';

const LARGE = 150_000;
const SMALL = 150;

function flipBit(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  writeFileSync(path, bytes);
}

function zeroRow(dataDir: string, hash: string): void {
  const rows = new Database(join(dataDir, 'blobs', 'small.sqlite'));
  rows.prepare('UPDATE blob SET bytes = ? WHERE version_hash = ?').run(Buffer.alloc(SMALL), Buffer.from(hash, 'hex'));
  rows.close();
}

type Damage = (path: string, hash: string) => void;

/** Damage to a copy, behind the daemon's back. */
const DAMAGES: readonly (readonly [name: string, sizeBytes: number, damage: Damage])[] = [
  ['a file with one changed bit', LARGE, (path) => flipBit(path, 77_777)],
  [
    'a file that was changed and got its old times back',
    LARGE,
    (path) => {
      flipBit(path, 0);
      utimesSync(path, 1_700_000_000, 1_700_000_000);
    },
  ],
  ['a file that was cut short', LARGE, (path) => writeFileSync(path, readFileSync(path).subarray(0, 1_000))],
  ['a file that is empty', LARGE, (path) => writeFileSync(path, '')],
  ['a file that is gone', LARGE, (path) => rmSync(path)],
  ['a file with another length', LARGE, (path) => writeFileSync(path, Buffer.alloc(4 * 1_048_576))],
  ['a row with other bytes', SMALL, (_path, hash) => zeroRow(dataDir, hash)],
];

const pathOf = (hash: string) => join(dataDir, 'blobs', 'keccak256', hash.slice(0, 2), hash);

let node: Devnode;
let daemon: RunningArchive;
let dataDir: string;
let hashes: string[];

beforeAllSharing(async (atEnd) => {
  node = await startNode({}, atEnd);
  dataDir = temporaryFolder(atEnd);
  hashes = DAMAGES.map(
    ([label, sizeBytes]) => node.submitLabelled({ label, sizeBytes, hashType: 'keccak256' }).versionHash,
  );
  node.mine();
  // Without memory for what is asked for often: every answer comes from the copy.
  daemon = await startArchiveHere({ dataDir, node, env: { HOLDFAST_HTTP_CACHE_BYTES: '0' }, atEnd });
  await untilStored(daemon, DAMAGES.length);
  // The file was served once: a reader that remembers its proof has to see that it changed since.
  for (const hash of hashes) expect((await daemon.client.blob(hash)).status).toBe(200);
  node.faults.add({ fault: { kind: 'work-queue-full' }, methods: ['getnevmblobdata'] });
  for (const [index, [, , damage]] of DAMAGES.entries()) damage(pathOf(hashes[index] ?? ''), hashes[index] ?? '');
});

describe('a copy that is not what its name says', () => {
  test.each(DAMAGES.map(([name], index) => [name, index] as const))(
    '%s: 503 on every route, its record says damaged, and the log tells',
    async (_name, index) => {
      const { client } = daemon;
      const hash = hashes[index] ?? '';
      const refused = await client.blob(hash);
      expect(refused.status).toBe(503);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await client.problem(`/v1/blobs/${hash}`)).toMatchObject({ code: 'blob/damaged' });
      const old = await client.get(`/vh/${hash}`);
      expect(old.status).toBe(503);
      expect(old.body.toString()).not.toMatch(/^[0-9a-f]*$/);
      expect(await client.record(hash)).toMatchObject({ state: 'seen', replicas: [{ state: 'damaged' }] });
      const { conditions } = await client.status();
      expect(conditions.find(({ code }) => code === 'archive/damaged-copy')?.message).toContain(hash);
    },
  );

  test('an alarm stands in the log', () => {
    expect(daemon.output).toMatch(/"level":"(warn|error)"[^\n]*"code":"archive\/damaged-copy"/);
  });

  test('all are fetched again, once, when the node gives them, and are served', async () => {
    node.faults.clear();
    const gets = countGets(node);
    await untilStored(daemon, DAMAGES.length);
    for (const [index, [label, sizeBytes]] of DAMAGES.entries()) {
      const found = await daemon.client.blob(hashes[index] ?? '');
      expect(found.body.equals(sampleBytes(label, sizeBytes))).toBe(true);
    }
    expect(gets.count).toBe(DAMAGES.length);
    await eventually(async () => {
      expect(await daemon.client.readiness()).toMatchObject({ status: 200, conditions: [] });
    });
  });

  test('gets no row when it is found while the catalog is made again, and is fetched instead', async () => {
    await stop(daemon);
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(dataDir, `catalog.sqlite${suffix}`), { force: true });
    flipBit(pathOf(hashes[0] ?? ''), 1);
    const gets = countGets(node);
    const again = await startArchiveHere({ dataDir, node });
    await untilStored(again, DAMAGES.length);
    expect((await again.client.blob(hashes[0] ?? '')).body).toHaveLength(LARGE);
    expect(gets.count).toBe(1);
  });
});
