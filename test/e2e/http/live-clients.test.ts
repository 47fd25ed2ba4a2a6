import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Devnode } from '../../../src/devnode/index.ts';
import { beliefsOf, expectNotBelieved, expectNotGivenUp } from '../../http/live-clients.ts';
import { sampleBytes } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import {
  environmentOf,
  type RunningArchive,
  startArchive,
  startArchiveHere,
  startNode,
  stop,
  untilStored,
} from '../archive-process.ts';
import { LIES, LyingServer } from '../backends/lying-server.ts';
import { eventually } from '../eventually.ts';
import { holdfastHere } from '../holdfast-here.ts';

const LABEL = 'what a rollup is built of';
/** The smallest that has a file of its own have more than 65,536. */
const SIZE_BYTES = 70_000;
const BYTES = sampleBytes(LABEL, SIZE_BYTES);
const ABSENT = 'ab'.repeat(32);
/** One that never answers has tests of its own: it takes long. */
const ANSWERED = LIES.filter((lie) => lie !== 'hang');

interface Scene {
  readonly node: Devnode;
  readonly bucket: LyingServer;
  readonly setup: Parameters<typeof startArchive>[0];
  readonly hash: string;
  /** The file of its bytes here. */
  readonly file: string;
  daemon: RunningArchive;
}

/** A blob that is final, in the folder and in a bucket. */
async function archived(start: typeof startArchiveHere = startArchiveHere): Promise<Scene> {
  const [node, bucket] = [await startNode(), await LyingServer.start()];
  const env = {
    ...bucket.environment,
    HOLDFAST_LOCAL_MODE: 'cache',
    HOLDFAST_FINALITY: 'depth:2',
    HOLDFAST_START_HEIGHT: '1',
  };
  const setup = { dataDir: temporaryFolder(), node, env };
  const hash = node.submitLabelled({ label: LABEL, sizeBytes: SIZE_BYTES, hashType: 'keccak256' }).versionHash;
  node.mine(4);
  const daemon = await start(setup);
  await untilStored(daemon, 1);
  const file = join(setup.dataDir, 'blobs', 'keccak256', hash.slice(0, 2), hash);
  const scene = { node, bucket, setup, hash, file, daemon };
  await allIsWell(scene);
  return scene;
}

async function allIsWell({ daemon, hash }: Scene): Promise<void> {
  await eventually(async () => {
    const beliefs = await beliefsOf(daemon.client.url, hash);
    expectNotGivenUp(beliefs, BYTES);
    expect(beliefs).toMatchObject({ rollux: { kind: 'taken' }, fetched: { kind: 'blob' }, isSafe: true });
    expect(beliefs).toMatchObject({ known: 'confirmed', altDa: { kind: 'blob' } });
    expect((await beliefsOf(daemon.client.url, ABSENT)).known).toBe('absent');
  });
}

/** Each question is asked several times: what is found out by the first question must not spoil the next. */
async function nobodyIsMisled({ daemon, hash }: Scene): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    expectNotGivenUp(await beliefsOf(daemon.client.url, hash), BYTES);
    expectNotBelieved(await beliefsOf(daemon.client.url, ABSENT));
  }
}

function damage({ file }: Scene): void {
  writeFileSync(file, Buffer.from(BYTES.map((byte) => byte ^ 1)));
}

test('the bytes here are damaged, then gone, and the node does not answer for them', async () => {
  const scene = await archived();
  scene.node.faults.add({ fault: { kind: 'work-queue-full' }, methods: ['getnevmblobdata'] });
  damage(scene);
  await nobodyIsMisled(scene);
  rmSync(scene.file, { force: true });
  await nobodyIsMisled(scene);
  scene.node.faults.clear();
  await allIsWell(scene);
});

test.each(ANSWERED)('the bytes here are damaged, and the only backend does this: %s', async (lie) => {
  const scene = await archived();
  scene.node.faults.add({ fault: { kind: 'work-queue-full' }, methods: ['getnevmblobdata'] });
  scene.bucket.lie = lie;
  damage(scene);
  await nobodyIsMisled(scene);
  rmSync(scene.file, { force: true });
  await nobodyIsMisled(scene);
  scene.bucket.lie = null;
  scene.node.faults.clear();
  await allIsWell(scene);
});

test('the node is gone, and comes back', async () => {
  const scene = await archived();
  scene.node.faults.add({ fault: { kind: 'work-queue-full' } });
  await nobodyIsMisled(scene);
  scene.node.faults.clear();
  await allIsWell(scene);
});

test('the process is killed, its catalog lost, and made again', async () => {
  const scene = await archived(startArchive);
  await stop(scene.daemon, 'SIGKILL');
  for (const name of ['catalog.sqlite', 'catalog.sqlite-wal', 'catalog.sqlite-shm']) {
    rmSync(join(scene.setup.dataDir, name), { force: true });
  }
  // Until a node has confirmed again what is on chain, nothing is final and nothing absent.
  scene.node.faults.add({ fault: { kind: 'work-queue-full' } });
  scene.daemon = await startArchive(scene.setup);
  await nobodyIsMisled(scene);
  expect((await beliefsOf(scene.daemon.client.url, scene.hash)).isSafe).toBe(false);
  expect((await beliefsOf(scene.daemon.client.url, ABSENT)).known).toBe('error');
  scene.node.faults.clear();
  await allIsWell(scene);
});

test('the operator takes it down, and gives it back', async () => {
  const scene = await archived();
  const env = environmentOf(scene.setup);
  expect((await holdfastHere(['withhold', scene.hash, '--reason', 'an order'], { env })).code).toBe(0);
  const beliefs = await beliefsOf(scene.daemon.client.url, scene.hash);
  expectNotGivenUp(beliefs, BYTES);
  expect(beliefs).toMatchObject({ rollux: { kind: 'retried' }, isSafe: false, known: 'error' });
  expect((await holdfastHere(['withhold', scene.hash, '--revoke'], { env })).code).toBe(0);
  await allIsWell(scene);
});
