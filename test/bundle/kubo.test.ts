import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { blobCid } from '../../src/core/blob/cid.ts';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import { describeWithServers, SERVER_START_MS } from '../servers/availability.ts';
import { type KuboServer, startKubo } from '../servers/kubo-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { archived, reported } from './archived-scene.ts';

describeWithServers('a bundle in a real Kubo', () => {
  let server: KuboServer;
  beforeAll(async () => {
    server = await startKubo({ config: { 'Gateway.NoFetch': true } });
  }, SERVER_START_MS);
  afterAll(() => server?.stop());

  const call = async (path: string, body: FormData | null = null) => {
    const answer = await fetch(`${server.apiUrl}/api/v0/${path}`, { method: 'POST', body });
    const bytes = new Uint8Array(await answer.arrayBuffer());
    if (!answer.ok) throw new Error(new TextDecoder().decode(bytes));
    return bytes;
  };

  test('`ipfs dag import` takes it, pins its root, and keeps every blob through garbage collection', async () => {
    const scene = await archived(6);
    const file = join(temporaryFolder(), 'blobs.car');
    const { code, report } = await reported(scene.dataDir, 'export', '--output', file);
    expect(code).toBe(0);
    const form = new FormData();
    form.set('file', new Blob([readFileSync(file)]), 'blobs.car');
    const told = new TextDecoder().decode(await call('dag/import?pin-roots=true&stats=true', form));
    expect(told).toContain(String(report?.['root']));
    expect(told).toContain('"PinErrorMsg":""');
    await call('repo/gc?quiet=true&silent=true');
    expect(new Set(scene.blobs.map(({ hashType }) => hashType)).size).toBe(2);
    for (const { versionHash, hashType, bytes } of scene.blobs) {
      const cid = blobCid({ hashType, versionHash: parseVersionHash(versionHash) });
      expect(Buffer.compare(await call(`block/get?arg=${cid}&offline=true`), bytes)).toBe(0);
    }
    const manifest = JSON.parse(
      new TextDecoder().decode(await call(`dag/get?arg=${report?.['root']}&output-codec=dag-json`)),
    );
    expect(manifest).toMatchObject({ format: 'holdfast-bundle', blobs: 6, inventory: report?.['inventory'] });
  });
});
