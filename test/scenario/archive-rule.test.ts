import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readWhole } from '../read-whole.ts';
import { nameOf, Scene } from './archive-on-devnode.ts';

const NEVER = new AbortController().signal;
const SMALL_ONLY = { HOLDFAST_ARCHIVE_MAX_BLOB_BYTES: '1000' };
/** The walk ends three blocks below the tip, or less. */
const FINALITY = { HOLDFAST_FINALITY: 'depth:1' };

/** One blob that the rule leaves out, one that it does not, both in a final block. */
async function sceneOfTwo() {
  const scene = await Scene.create({ env: FINALITY });
  await scene.start(SMALL_ONLY);
  const large = scene.submit(5_000);
  const small = scene.submit(500);
  await leftOut(scene, 1);
  scene.mine(3);
  await scene.caughtUp();
  await scene.finalUpTo(scene.node.chain.tip.height - 1);
  return { scene, large, small };
}

async function leftOut(scene: Scene, count: number): Promise<void> {
  await scene.until(`${count} left out`, () => scene.archive.status().archiveRule.notArchived === count);
}

async function ask(scene: Scene, path: string, body?: object) {
  const answer = await fetch(
    `${scene.url}${path}`,
    body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) },
  );
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
}

test('a blob that the rule leaves out costs the node no byte, and every answer about it says so', async () => {
  const { scene, large, small } = await sceneOfTwo();
  const { versionHash } = large;
  expect(await scene.record(small.versionHash)).toMatchObject({ state: 'stored', rule: null });
  // One blob was asked for in all: the small one.
  expect(scene.archive.status().node.calls['blobsAsked']).toBe(1);
  const rule = 'Only blobs of at most 1000 bytes are archived.';
  expect(scene.archive.status()).toMatchObject({
    archiveRule: { says: rule, notArchived: 1 },
    content: { seen: 0, spooled: 0, stored: 1, atRisk: 0 },
    chain: { lost: 0 },
    smallestSlackSeconds: null,
  });
  expect(await ask(scene, `/v1/blobs/${versionHash}`)).toMatchObject({
    status: 421,
    body: { code: 'blob/not-archived-by-rule', rule },
  });
  expect(await ask(scene, `/v1/blobs/${versionHash}/proof`)).toMatchObject({
    status: 421,
    body: { code: 'blob/not-archived-by-rule' },
  });
  expect(await ask(scene, `/v1/receipts/${versionHash}`)).toMatchObject({
    status: 421,
    body: { code: 'blob/not-archived-by-rule' },
  });
  expect(await ask(scene, `/vh/${versionHash}`)).toMatchObject({ status: 421 });
  expect(await ask(scene, `/v1/blobs/${versionHash}/record`)).toMatchObject({
    status: 200,
    body: { state: 'not-archived-by-rule', rule, sizeBytes: 5_000, occurrences: [{ state: 'final' }], replicas: [] },
  });
  expect(await ask(scene, '/check_vh', [versionHash, small.versionHash])).toEqual({ status: 200, body: [false, true] });
  expect(await ask(scene, '/', { id: 1, method: 'getnevmblobdata', params: [versionHash] })).toMatchObject({
    body: { error: { code: -32603 } },
  });
  const { body: inventory } = await ask(scene, '/v1/inventory');
  expect(inventory.counts).toEqual({
    missing: 0,
    stored: 1,
    lost: 0,
    withheld: 0,
    custom: 0,
    'not-archived-by-rule': 1,
  });
  const { body: window } = await ask(scene, '/v1/window');
  expect(
    window.blocks.flatMap((block: { blobs: { state: string }[] }) => block.blobs.map(({ state }) => state)),
  ).toEqual(expect.arrayContaining(['not-archived-by-rule', 'stored']));
  const audit = await scene.audit();
  expect(audit).toMatchObject({
    occurrences: { stored: 1, lost: 0, pending: 0, 'not-archived-by-rule': 1 },
    isMissing: false,
  });
  const metrics = await (await fetch(`${scene.url}/metrics`)).text();
  expect(metrics).toContain('holdfast_not_archived_by_rule_blobs 1\n');
});

test('is never lost when its window is over, nor when the catalog is lost as well', async () => {
  const { scene, large } = await sceneOfTwo();
  await scene.until('told to the data folder', () => {
    const { waiting } = scene.archive.status().chain.evidence;
    return Object.values(waiting).every((count) => count === 0);
  });
  scene.mine(160);
  await scene.caughtUp();
  const stays = async () => {
    const lookup = await readWhole(scene.archive, nameOf(large.versionHash), NEVER);
    return [lookup.kind, scene.archive.status().chain.lost];
  };
  expect(await stays()).toEqual(['not-archived-by-rule', 0]);
  await scene.stop();
  for (const end of ['', '-wal', '-shm']) await rm(join(scene.dataDir, `catalog.sqlite${end}`), { force: true });
  // The rule is gone as well: a blob that was left out then is left out still, for no source can give it.
  await scene.start();
  await leftOut(scene, 1);
  await scene.caughtUp();
  expect(await stays()).toEqual(['not-archived-by-rule', 0]);
  // History is walked down to the lowest record.
  await scene.until('examined', async () => (await scene.audit()).occurrences['not-archived-by-rule'] === 1);
  expect(await scene.audit()).toMatchObject({ occurrences: { stored: 1, lost: 0, pending: 0 } });
});

test('is fetched when the rule is loosened within its window; what is archived stays when the rule is tightened', async () => {
  const { scene, large, small } = await sceneOfTwo();
  await scene.stop();
  await scene.start();
  await leftOut(scene, 0);
  await scene.caughtUp();
  await scene.until('stored', async () => (await scene.record(large.versionHash))?.state === 'stored');
  await scene.stop();
  await scene.start({ HOLDFAST_ARCHIVE_MAX_BLOB_BYTES: '100' });
  const another = scene.submit(400);
  await leftOut(scene, 1);
  expect(await scene.record(another.versionHash)).toMatchObject({ state: 'not-archived-by-rule' });
  for (const { versionHash, bytes } of [large, small]) {
    const lookup = await readWhole(scene.archive, nameOf(versionHash), NEVER);
    expect(lookup.kind === 'found' && Buffer.from(lookup.blob.bytes).equals(bytes)).toBe(true);
  }
});
