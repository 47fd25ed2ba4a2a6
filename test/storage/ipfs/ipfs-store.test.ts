import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { blobCid } from '../../../src/core/blob/cid.ts';
import { ipfsOptions } from '../../../src/storage/ipfs/ipfs-options.ts';
import { IpfsStore } from '../../../src/storage/ipfs/ipfs-store.ts';
import { isCustom, listBlobs } from '../../../src/storage/object-store.ts';
import { eventually } from '../../e2e/eventually.ts';
import { NEVER, nameOf, sampleBlob, sampleBytes } from '../../sample-blobs.ts';
import { describeWithServers, SERVER_START_MS } from '../../servers/availability.ts';
import { type KuboServer, startKubo } from '../../servers/kubo-server.ts';
import { describeObjectStore } from '../object-store-conformance.ts';
import { ask, blockFile, emptyStore } from './kubo-fixture.ts';

describeWithServers('an IPFS store on a real Kubo', () => {
  let server: KuboServer;
  beforeAll(async () => {
    server = await startKubo();
  }, SERVER_START_MS);
  afterAll(() => server?.stop());

  async function open(): Promise<IpfsStore> {
    const store = await emptyStore(server);
    onTestFinished(() => store.close());
    return store;
  }

  describeObjectStore('a Kubo', ['blob', 'mark'], async () => ({
    store: await emptyStore(server),
    overwrite: async (key, bytes) => {
      if (typeof key === 'object' && !isCustom(key)) await server.writeFile(blockFile(key), bytes);
    },
  }));

  test('pins what it puts: garbage collection leaves it, and takes what was deleted', async () => {
    const store = await open();
    const [kept, gone] = [sampleBlob('kept', 70_000), sampleBlob('gone', 70_000)];
    for (const blob of [kept, gone]) await store.put(blob, 'replace', NEVER);
    await store.delete(nameOf(gone), NEVER);
    await ask(server, 'repo/gc?quiet=true&silent=true');
    expect((await store.get(nameOf(kept), NEVER))?.length).toBe(70_000);
    expect(await store.get(nameOf(gone), NEVER)).toBeNull();
  });

  test('a block that is there and not pinned is not held: the next put pins it', async () => {
    const store = await open();
    const blob = sampleBlob('unpinned', 1_000);
    await store.put(blob, 'replace', NEVER);
    await ask(server, `pin/rm?arg=${blobCid(blob)}`);
    expect(await store.stat(nameOf(blob), NEVER)).toBeNull();
    expect(await Array.fromAsync(listBlobs(store, NEVER))).toEqual([]);
    await store.put(blob, 'replace', NEVER);
    expect(await store.stat(nameOf(blob), NEVER)).toEqual({ sizeBytes: 1_000 });
  });

  test('a pin whose block is gone is listed, for a listing reads pins alone, and is not there', async () => {
    const store = await open();
    const [lost, kept] = [sampleBlob('lost', 1_000), sampleBlob('kept', 1_001)];
    for (const blob of [lost, kept]) await store.put(blob, 'replace', NEVER);
    await server.removeFile(blockFile(lost));
    const listed = await Array.fromAsync(listBlobs(store, NEVER));
    expect(new Set(listed.map(({ versionHash }) => versionHash))).toEqual(
      new Set([lost.versionHash, kept.versionHash]),
    );
    expect([await store.stat(nameOf(lost), NEVER), await store.get(nameOf(lost), NEVER)]).toEqual([null, null]);
    await store.put(lost, 'replace', NEVER);
    expect((await store.get(nameOf(lost), NEVER))?.length).toBe(1_000);
  });

  test('lists what is ours among pins of others, without sizes', async () => {
    const store = await open();
    const blobs = Array.from({ length: 40 }, (_, index) => sampleBlob(`ours ${index}`, 100 + index));
    await Promise.all(blobs.map((blob) => store.put(blob, 'replace', NEVER)));
    const form = new FormData();
    form.append('file', new Blob(['somebody else']));
    await fetch(`${server.apiUrl}/api/v0/add?pin=true`, { method: 'POST', body: form });
    const entries = await Array.fromAsync(listBlobs(store, NEVER));
    expect(new Set(entries.map((entry) => `${entry.versionHash} ${entry.sizeBytes}`))).toEqual(
      new Set(blobs.map((blob) => `${blob.versionHash} null`)),
    );
  });

  test('never reads more of a block than a blob can have', async () => {
    const store = await open();
    const blob = sampleBlob('swollen', 1_000);
    await store.put(blob, 'replace', NEVER);
    await server.writeFile(blockFile(blob), sampleBytes('swollen', 5_000_000));
    expect((await store.get(nameOf(blob), NEVER))?.length).toBe(2_097_153);
  });

  test('the probe finds it usable, says that it does not sync, and leaves nothing behind', async () => {
    const store = await open();
    const findings = await store.probe(NEVER);
    expect(findings.map(({ check, grade }) => [check, grade])).toEqual([
      ['reachable', 'good'],
      ['large-block', 'good'],
      ['blake2s-block', 'good'],
      ['missing-block', 'good'],
      ['durable', 'warning'],
      ['space', expect.stringMatching(/good|warning/)],
    ]);
    expect(findings[0]?.sentence).toContain('Kubo 0.42.0 answers at ');
    expect(await store.freeBytes(NEVER)).toBeGreaterThan(0);
    expect(await Array.fromAsync(listBlobs(store, NEVER))).toEqual([]);
  });

  test('the probe recognises the gateway given instead of the API', async () => {
    const store = await IpfsStore.open(ipfsOptions({ apiUrl: server.gatewayUrl }));
    onTestFinished(() => store.close());
    expect(await store.probe(NEVER)).toEqual([
      {
        check: 'reachable',
        grade: 'fault',
        sentence: expect.stringContaining('is the gateway of an IPFS node'),
        hint: expect.stringContaining('5001'),
      },
    ]);
    await expect(store.get(nameOf(sampleBlob('x', 1)), NEVER)).rejects.toMatchObject({ code: 'storage/not-kubo' });
    await expect(store.put(sampleBlob('x', 1), 'replace', NEVER)).rejects.toMatchObject({ code: 'storage/not-kubo' });
  });

  test('a Kubo that was killed refuses connections; started again, everything acknowledged is there', async () => {
    const store = await open();
    const blob = sampleBlob('survivor', 70_000);
    await store.put(blob, 'replace', NEVER);
    await server.kill();
    const refused = { code: 'storage/unreachable', retryable: true };
    await expect(store.get(nameOf(blob), NEVER)).rejects.toMatchObject(refused);
    await expect(store.put(blob, 'replace', NEVER)).rejects.toMatchObject(refused);
    await expect(Array.fromAsync(listBlobs(store, NEVER))).rejects.toMatchObject(refused);
    await server.resume();
    expect((await store.get(nameOf(blob), NEVER))?.length).toBe(70_000);
  });
});

describeWithServers('two Kubo nodes', () => {
  let ours: KuboServer;
  let theirs: KuboServer;
  beforeAll(async () => {
    ours = await startKubo();
    theirs = await startKubo();
  }, SERVER_START_MS);
  afterAll(async () => {
    await ours?.stop();
    await theirs?.stop();
  });

  test.each(['keccak256', 'blake2s256'] as const)(
    'a 2 MiB blob that we put is fetched by the second under the CID of its %s version hash',
    async (hashType) => {
      const store = await emptyStore(ours);
      onTestFinished(() => store.close());
      const blob = sampleBlob('over bitswap', 2_097_152, hashType);
      await store.put(blob, 'replace', NEVER);
      const { ID } = z.object({ ID: z.string() }).parse(await ask(ours, 'id'));
      // Kubo gives up a connection to an address of this machine that takes it longer than five seconds.
      await eventually(() => ask(theirs, `swarm/connect?arg=${ours.swarmAddress}/p2p/${ID}`));
      const answer = await fetch(`${theirs.apiUrl}/api/v0/block/get?arg=${blobCid(blob)}&timeout=240s`, {
        method: 'POST',
      });
      expect(Buffer.compare(new Uint8Array(await answer.arrayBuffer()), blob.bytes)).toBe(0);
    },
  );

  test('a block that only the network has is absent', async () => {
    const store = await emptyStore(ours);
    const other = await emptyStore(theirs);
    onTestFinished(() => Promise.all([store.close(), other.close()]).then(() => {}));
    const blob = sampleBlob('elsewhere', 500);
    await other.put(blob, 'replace', NEVER);
    expect(await store.get(nameOf(blob), NEVER)).toBeNull();
    expect(await store.stat(nameOf(blob), NEVER)).toBeNull();
  });
});

describeWithServers('a Kubo that looks at what it hands out (HashOnRead) and syncs its blocks', () => {
  let server: KuboServer;
  beforeAll(async () => {
    server = await startKubo({ config: { 'Datastore.HashOnRead': true, 'Datastore.Spec': SYNCED } });
  }, SERVER_START_MS);
  afterAll(() => server?.stop());

  test('a refused read of a damaged block is damage, not absence: a put repairs it', async () => {
    const store = await emptyStore(server);
    onTestFinished(() => store.close());
    const blob = sampleBlob('damaged', 1_000);
    await store.put(blob, 'replace', NEVER);
    await server.writeFile(blockFile(blob), sampleBytes('rot', 1_000));
    expect((await store.get(nameOf(blob), NEVER))?.length).toBe(0);
    await store.put(blob, 'replace', NEVER);
    expect((await store.get(nameOf(blob), NEVER))?.length).toBe(1_000);
  });

  test('the probe has nothing to say of its durability', async () => {
    const store = await emptyStore(server);
    onTestFinished(() => store.close());
    expect((await store.probe(NEVER)).find(({ check }) => check === 'durable')?.grade).toBe('good');
  });
});

const SYNCED = {
  mounts: [
    {
      mountpoint: '/blocks',
      path: 'blocks',
      prefix: 'flatfs.datastore',
      shardFunc: '/repo/flatfs/shard/v1/next-to-last/2',
      sync: true,
      type: 'flatfs',
    },
    { compression: 'none', mountpoint: '/', path: 'datastore', prefix: 'leveldb.datastore', type: 'levelds' },
  ],
  type: 'mount',
};
