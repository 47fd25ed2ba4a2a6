import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { HashType } from '../../src/core/blob/ids.ts';
import { createNodeHasher } from '../../src/hashing/index.ts';
import { LocalStore } from '../../src/storage/local/local-store.ts';
import { listBlobs } from '../../src/storage/object-store.ts';
import { verifyBlob } from '../../src/verify/verified-blob.ts';
import { NEVER, sampleBytes } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type RunningArchive, startArchive, startNode, untilStored } from './archive-process.ts';
import { countGets } from './counted-gets.ts';
import { eventually } from './eventually.ts';

const KILLS = 10;
const LARGE = 2_097_152;
/** Ten lives with so few requests never get all blobs: each of the sixteen large ones is a request of its own. */
const REQUESTS_OF_A_LIFE = 2;

interface Published {
  readonly label: string;
  readonly sizeBytes: number;
  readonly versionHash: string;
}

/** The durable blobs in the folder: every entry hashes to its name, or the test ends here. */
async function durableIn(dataDir: string): Promise<Set<string>> {
  const store = await LocalStore.open(dataDir);
  const hasher = await createNodeHasher();
  const durable = new Set<string>();
  try {
    for await (const entry of listBlobs(store, NEVER)) {
      const bytes = await store.get(entry, NEVER);
      expect(bytes === null ? null : verifyBlob({ ...entry, bytes }, hasher)).not.toBeNull();
      durable.add(entry.versionHash);
    }
  } finally {
    await store.close();
  }
  return durable;
}

/** The blobs that the daemon calls durable. */
async function durableOf({ client }: RunningArchive): Promise<number> {
  const { stored, spooled } = (await client.status()).content;
  return stored + spooled;
}

test('ten kill -9 in the middle of a drain lose nothing, and nothing that was durable is fetched again', {
  retry: 0,
  // Eleven starts of a process, one after the other.
  timeout: 600_000,
}, async () => {
  const node = await startNode();
  const published: Published[] = Array.from({ length: 80 }, (_, index) => {
    const hashType: HashType = index % 4 === 0 ? 'blake2s256' : 'keccak256';
    const sizeBytes = index % 5 === 0 ? LARGE : 200 + index * 700;
    const label = `kill -9, blob ${index}`;
    return { label, sizeBytes, versionHash: node.submitLabelled({ label, sizeBytes, hashType }).versionHash };
  });
  node.mine(3);
  const latency = node.faults.add({ fault: { kind: 'latency', ms: 60 }, methods: ['getnevmblobdata'] });
  const gets = new Map(published.map(({ versionHash }) => [versionHash, countGets(node, versionHash)]));
  const countOf = (versionHash: string) => gets.get(versionHash)?.count ?? 0;
  const asked = () => [...gets.values()].reduce((sum, { count }) => sum + count, 0);

  const dataDir = temporaryFolder();
  let durable = new Set<string>();
  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = new Map([...durable].map((versionHash) => [versionHash, countOf(versionHash)]));
    const atStart = asked();
    // Every life ends in the middle, however fast the machine is: all requests but so many hang until the kill.
    const hanging = node.faults.add({
      fault: { kind: 'latency', ms: 3_600_000 },
      methods: ['getnevmblobdata'],
      after: REQUESTS_OF_A_LIFE,
    });
    const daemon = await startArchive({ dataDir, node, env: { HOLDFAST_NODE_REQUESTS: '2' } });
    await eventually(() => expect(asked() - atStart).toBeGreaterThan(0));
    const isEarly = kill % 2 === 0;
    // The kill comes at changing places: between an answer and its write, between a write and its row; and after the row.
    if (isEarly) await pause(kill * 13);
    else await eventually(async () => expect(await durableOf(daemon)).toBeGreaterThan(durable.size));
    daemon.kill('SIGKILL');
    expect(await daemon.ended).toMatchObject({ signal: 'SIGKILL' });
    hanging.remove();

    for (const [versionHash, count] of before) expect(countOf(versionHash)).toBe(count);
    const now = await durableIn(dataDir);
    for (const versionHash of durable) expect(now.has(versionHash)).toBe(true);
    if (!isEarly) expect(now.size).toBeGreaterThan(durable.size);
    durable = now;
  }
  expect(durable.size).toBeLessThan(published.length);

  latency.remove();
  const before = new Map([...durable].map((versionHash) => [versionHash, countOf(versionHash)]));
  const last = await startArchive({ dataDir, node });
  await untilStored(last, published.length);
  for (const { label, sizeBytes, versionHash } of published) {
    expect((await last.client.blob(versionHash)).body.equals(sampleBytes(label, sizeBytes))).toBe(true);
  }
  for (const [versionHash, count] of before) expect(countOf(versionHash)).toBe(count);
  await eventually(async () => {
    expect(await last.client.status()).toMatchObject({ content: { stored: 80, failing: 0 }, conditions: [] });
  });
});

test('a kill -9 while the catalog is made again does not leave the rest of the folder unindexed', async () => {
  const node = await startNode({ seedRecordedBlobs: true });
  const dataDir = temporaryFolder();
  const first = await startArchive({ dataDir, node });
  await untilStored(first, 22);
  first.kill('SIGKILL');
  await first.ended;
  await forgetMostOf(dataDir);

  await node.close();
  const second = await startArchive({ dataDir, node });
  await untilStored(second, 22);
});

/** The catalog as a crash leaves it that came in the middle of a rebuild: some rows, and not said to be whole. */
async function forgetMostOf(dataDir: string): Promise<void> {
  const { default: Database } = await import('better-sqlite3');
  const database = new Database(`${dataDir}/catalog.sqlite`);
  database.exec(
    "DELETE FROM fact WHERE name = 'rebuilt'; DELETE FROM copy WHERE kind = 5 AND object > 5; DELETE FROM content WHERE sequence > 5",
  );
  database.close();
}
