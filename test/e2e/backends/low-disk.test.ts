import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startArchive, startNode } from '../archive-process.ts';
import { eventually } from '../eventually.ts';
import { MountedFolder, testWithMounts } from '../mounted-folder.ts';
import { LyingServer } from './lying-server.ts';
import { expectAll, type Published } from './real-backends.ts';

const MIB = 1_048_576;
/** Dozens of MiB come, are evicted and are read again: a starved machine takes minutes. */
const SLOW_MS = 900_000;

testWithMounts(
  'one of two backends dead and the disk nearly full: ingest goes on, within what the disk has',
  async () => {
    const [healthy, node] = [await LyingServer.start(), await startNode()];
    const disk = new MountedFolder(32 * MIB);
    const path = join(temporaryFolder(), 'config.json');
    const backend = (id: string, endpoint: string) => {
      return { kind: 's3', id, endpoint, bucket: 'bucket', accessKeyId: 'key', secretAccessKey: 'secret' };
    };
    const dead = backend('s3:dead', 'http://127.0.0.1:9');
    await writeFile(path, JSON.stringify({ backends: [backend('s3:healthy', healthy.endpoint), dead] }));
    const daemon = await startArchive({
      dataDir: disk.path,
      node,
      // No budget: what statfs says is the bound. Two are required, so that nothing is ever stored.
      env: { HOLDFAST_CONFIG: path, HOLDFAST_LOCAL_MODE: 'cache', HOLDFAST_REPLICAS_REQUIRED: '2' },
    });
    const published: Published[] = [];
    for (let block = 0; block < 12; block += 1) {
      for (let index = 0; index < 5; index += 1) {
        const label = `low disk ${block} ${index}`;
        published.push({
          label,
          sizeBytes: MIB,
          versionHash: node.submitLabelled({ label, sizeBytes: MIB, hashType: 'keccak256' }).versionHash,
        });
      }
      node.mine(1);
    }
    await eventually(async () => {
      const { content } = await daemon.client.status();
      expect(content).toMatchObject({ seen: 0, spooled: 60, stored: 0 });
    });
    // The condition was told before room was made, which clears it again.
    expect(daemon.output).toContain('disk/nearly-full');
    const { conditions } = await daemon.client.status();
    expect(conditions.map(({ code }) => code)).toContain('storage/unreachable');
    await eventually(async () => expect(await daemon.client.readiness()).toMatchObject({ status: 200 }));
    await expectAll(daemon, published);
    await eventually(() =>
      expect([...healthy.objects.keys()].filter((key) => key.startsWith('blobs/'))).toHaveLength(60),
    );
  },
  SLOW_MS,
);

testWithMounts(
  'a small disk takes more small blobs than fit on it, and its catalog keeps its room',
  async () => {
    const [node, disk, bucket] = [await startNode(), new MountedFolder(60 * MIB), await LyingServer.start()];
    const env = { ...bucket.environment, HOLDFAST_LOCAL_MODE: 'cache' };
    const daemon = await startArchive({ dataDir: disk.path, node, env });
    const sizeBytes = 60_000;
    const last: Published[] = [];
    let stored = 0;
    // 46 MiB of rows, where 36 MiB are for blobs: evicted blobs make room for new ones.
    for (let block = 0; block < 9; block += 1) {
      for (let index = 0; index < 90; index += 1) {
        const label = `small disk ${block} ${index}`;
        const { versionHash } = node.submitLabelled({ label, sizeBytes, hashType: 'keccak256' });
        if (block === 8) last.push({ label, sizeBytes, versionHash });
      }
      node.mine(1);
      stored += 90;
      await eventually(async () => expect((await daemon.client.status()).content).toMatchObject({ stored }));
    }
    const { conditions } = await daemon.client.status();
    expect(conditions.map(({ code }) => code)).not.toContain('catalog/full');
    expect(daemon.output).not.toContain('catalog/full');
    await expectAll(daemon, last);
  },
  SLOW_MS,
);
