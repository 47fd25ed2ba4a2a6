import { expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { environmentOf, startArchive, startArchiveHere, startNode, stop, untilStored } from './archive-process.ts';
import { countGets } from './counted-gets.ts';
import { eventually } from './eventually.ts';
import { HoldfastProcess } from './holdfast-process.ts';
import { readerThatStops } from './stopped-reader.ts';

/** Every obstacle here lasts a minute or longer: a stop that waits for one is cut off, and says so. */
const IMPATIENT = { HOLDFAST_STOP_SECONDS: '45' };
/** The last line of a stop that was not cut off. */
const CLEAN = expect.stringContaining('"msg":"stopped"');
const full = { label: 'stretched', sizeBytes: 2_097_152, hashType: 'keccak256' } as const;

test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)(
  '%s in the middle of a 2 MiB fetch that the node stretches ends it at once, with exit code %i',
  async (signal, code) => {
    const node = await startNode();
    const { versionHash } = node.submitLabelled(full);
    node.mine();
    const stretch = node.faults.add({
      fault: { kind: 'slow-body', bytesPerSecond: 50_000 },
      methods: ['getnevmblobdata'],
    });
    const dataDir = temporaryFolder();
    const daemon = await startArchive({ dataDir, node, env: IMPATIENT });
    await eventually(() => expect(stretch.hits).toBe(1));
    expect((await daemon.client.blob(versionHash)).status).toBe(503);
    expect(await daemon.client.problem(`/v1/blobs/${versionHash}`)).toMatchObject({ code: 'blob/not-fetched-yet' });

    expect(await stop(daemon, signal)).toMatchObject({ code, signal: null, stderr: '', stdout: CLEAN });

    stretch.remove();
    const again = await startArchiveHere({ dataDir, node });
    await untilStored(again, 1);
  },
);

test('a stop between two polls ends it at once, and gives the folder back', async () => {
  const node = await startNode({ seedRecordedBlobs: true });
  const dataDir = temporaryFolder();
  const daemon = await startArchive({ dataDir, node, env: IMPATIENT });
  await untilStored(daemon, 22);
  expect(await stop(daemon)).toMatchObject({ code: 143, stdout: CLEAN });
  const gets = countGets(node);
  const again = await startArchiveHere({ dataDir, node });
  await untilStored(again, 22);
  expect(gets.count).toBe(0);
});

test('a stop while the node does not answer at all ends it at once', async () => {
  const node = await startNode();
  const stuck = node.faults.add({ fault: { kind: 'latency', ms: 60_000 } });
  const daemon = await startArchive({ dataDir: temporaryFolder(), node, env: IMPATIENT });
  await eventually(() => expect(stuck.hits).toBeGreaterThan(0));
  expect(await stop(daemon, 'SIGINT')).toMatchObject({ code: 130, stderr: '', stdout: CLEAN });
});

test('a stop before it listens is obeyed as well', async () => {
  const node = await startNode();
  const daemon = new HoldfastProcess(['run'], { env: environmentOf({ dataDir: temporaryFolder(), node }) });
  await daemon.says(/hashes checked/);
  expect(await stop(daemon)).toMatchObject({ code: 143, stderr: '' });
});

test('two signals at once, as a terminal and a launcher send them, are one', async () => {
  const node = await startNode({ seedRecordedBlobs: true });
  const daemon = await startArchive({ dataDir: temporaryFolder(), node });
  daemon.kill('SIGINT');
  daemon.kill('SIGINT');
  expect(await daemon.ended).toMatchObject({ code: 130, stdout: CLEAN });
});

async function withReaderThatStops(env: Readonly<Record<string, string>>) {
  const node = await startNode();
  const { versionHash } = node.submitLabelled(full);
  node.mine();
  const setup = { dataDir: temporaryFolder(), node, env };
  const daemon = await startArchive(setup);
  await untilStored(daemon, 1);
  await readerThatStops(daemon.client.url, versionHash);
  return { daemon, setup, versionHash, gets: countGets(node) };
}

test('a stop in the middle of a download that its client does not read is clean, and within the grace period', async () => {
  const { daemon, setup, versionHash, gets } = await withReaderThatStops(IMPATIENT);
  expect(await stop(daemon)).toMatchObject({ code: 143, stderr: '', stdout: CLEAN });
  const again = await startArchiveHere(setup);
  await untilStored(again, 1);
  expect((await again.client.blob(versionHash)).status).toBe(200);
  expect(gets.count).toBe(0);
});

test('a stop that is held up longer than HOLDFAST_STOP_SECONDS says so and leaves; nothing is lost', async () => {
  const { daemon, setup, versionHash, gets } = await withReaderThatStops({ HOLDFAST_STOP_SECONDS: '1' });
  const ended = await stop(daemon);
  expect(ended).toMatchObject({ code: 143, stderr: '' });
  expect(ended.stdout).toContain('"graceSeconds":1,"msg":"not stopped in time');
  expect(ended.stdout).not.toContain('"msg":"stopped"');
  const again = await startArchiveHere(setup);
  await untilStored(again, 1);
  expect((await again.client.blob(versionHash)).status).toBe(200);
  expect(gets.count).toBe(0);
});
