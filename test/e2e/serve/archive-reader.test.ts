import { expect, test } from 'vitest';
import type { Devnode } from '../../../src/devnode/index.ts';
import { type ArchiveReader, createArchiveReader, type SourceOptions } from '../../../src/reader/index.ts';
import { beforeAllSharing } from '../../cleanup.ts';
import { sampleBytes } from '../../sample-blobs.ts';
import { describeWithServers, SERVER_START_MS } from '../../servers/availability.ts';
import { type KuboServer, startKubo } from '../../servers/kubo-server.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { type ArchiveProcess, PASSWORD, startArchive, startNode, untilStored } from '../archive-process.ts';
import { ipfsEnvironment, type Published, publish, untilDrained } from '../backends/real-backends.ts';
import { eventually } from '../eventually.ts';
import { startReader, untilReady } from './reader-process.ts';

const ABSENT = 'ab'.repeat(32);
/** A source of a starved machine takes longer than the 15 s of the default. */
const timeoutMs = 120_000;

describeWithServers('the archive reader against the real thing', () => {
  let kubo: KuboServer;
  let node: Devnode;
  let daemon: ArchiveProcess;
  let published: Published[];
  let sources: readonly SourceOptions[];
  let reader: ArchiveReader;

  beforeAllSharing(async (atEnd) => {
    // The archive gives what it has, and searches no network: then its 404 is a word of its own.
    kubo = await startKubo({ config: { 'Gateway.NoFetch': true } });
    atEnd(() => kubo.stop());
    node = await startNode({}, atEnd);
    const env = { ...ipfsEnvironment(kubo), HOLDFAST_FINALITY: 'depth:2', HOLDFAST_START_HEIGHT: '1' };
    daemon = await startArchive({ dataDir: temporaryFolder(atEnd), node, env, atEnd });
    published = publish(node, 'read by a program', 6);
    node.mine(3);
    await untilStored(daemon, 6);
    await untilDrained(daemon, ['ipfs']);
    sources = [
      { kind: 'holdfast', url: daemon.client.url },
      { kind: 'sentinel', url: daemon.client.url },
      { kind: 'ipfs-gateway', url: kubo.gatewayUrl },
      { kind: 'node', url: node.url.replace('//', `//devnode:${PASSWORD}@`) },
      // The façade is a node to its clients.
      { kind: 'node', url: daemon.client.url },
    ];
    reader = createArchiveReader({ sources, timeoutMs });
  }, SERVER_START_MS);

  test('each source alone gives every blob, of both hashes, and says what is absent', async () => {
    for (const source of sources) {
      const alone = createArchiveReader({ sources: [source], timeoutMs });
      for (const { label, sizeBytes, versionHash } of published) {
        const blob = await alone.read(versionHash);
        expect(Buffer.compare(blob?.bytes ?? Buffer.of(), sampleBytes(label, sizeBytes)), source.kind).toBe(0);
      }
      // "Ask again" is a right answer too, while the list or the walk is not current.
      await eventually(async () => expect(await alone.read(ABSENT), source.kind).toBeNull());
    }
  });

  test('records, proofs that prove, the listing, and how all of them do', async () => {
    const [first] = published;
    if (first === undefined) throw new Error('nothing was published');
    const bytes = sampleBytes(first.label, first.sizeBytes);
    expect(await reader.record(first.versionHash)).toMatchObject({ state: 'stored', sizeBytes: first.sizeBytes });
    const proofs = await eventually(async () => await reader.proofs(first.versionHash, { bytes }));
    expect(proofs?.[0]).toMatchObject({ versionHash: first.versionHash, size: first.sizeBytes });
    const listed = await Array.fromAsync(reader.list({ order: 'oldest' }));
    expect(new Set(listed.map(({ versionHash }) => versionHash))).toEqual(
      new Set(published.map(({ versionHash }) => versionHash)),
    );
    const states = await reader.status();
    expect(states.map(({ reachable, suspect }) => [reachable, suspect])).toEqual(sources.map(() => [true, false]));
    expect(JSON.stringify(states)).not.toContain(PASSWORD);
    await eventually(async () => expect(await reader.record(ABSENT)).toBeNull());
  });

  test('a stateless reader counts as an archive: it gives bytes, and never says that something is absent', async () => {
    const env = { ...ipfsEnvironment(kubo), HOLDFAST_WITHHELD_FILE: '/dev/null' };
    const stateless = await untilReady(await startReader(env));
    const alone = createArchiveReader({ sources: [{ kind: 'holdfast', url: stateless.client.url }], timeoutMs });
    expect(await alone.read(published[0]?.versionHash ?? '')).not.toBeNull();
    await expect(alone.read(ABSENT)).rejects.toMatchObject({ code: 'reader/unavailable' });
  });

  test('an archive that is killed in between costs nothing while another source has the bytes', async () => {
    const [, second] = published;
    expect(await reader.read(second?.versionHash ?? '')).not.toBeNull();
    daemon.kill('SIGKILL');
    await daemon.ended;
    for (const { versionHash } of published) expect(await reader.read(versionHash)).not.toBeNull();
    await expect(reader.read(ABSENT)).rejects.toMatchObject({ code: 'reader/unavailable' });
  });
});
