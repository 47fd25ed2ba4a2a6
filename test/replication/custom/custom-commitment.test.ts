import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { encodeHex } from '../../../src/core/blob/hex.ts';
import { createDevnode } from '../../../src/devnode/index.ts';
import { hashWith, nobleHasher } from '../../../src/verify/hasher.ts';
import { countGets } from '../../e2e/counted-gets.ts';
import { sampleBytes } from '../../sample-blobs.ts';
import { BLOCK_SECONDS, HOUR_BLOCKS, Scene } from '../../scenario/archive-on-devnode.ts';

const bytes = sampleBytes('committed to by another hash', 300);
const keccak = encodeHex(hashWith(nobleHasher, 'keccak256', bytes));
/** A hash of a type that no dialect knows. */
const versionHash = createHash('sha512-256').update(bytes).digest('hex');

async function sceneWith(dialect: 'svc' | 'syscoin-5'): Promise<Scene> {
  const scene = await Scene.create({ node: { dialect }, env: { HOLDFAST_NODE_DIALECT: dialect } });
  await scene.start();
  scene.node.submitBlob(bytes, { hashType: 'keccak256', versionHash });
  scene.mine(3);
  return scene;
}

const ask = async (scene: Scene, path: string) => {
  const answer = await fetch(`${scene.url}${path}`);
  return { status: answer.status, body: Buffer.from(await answer.arrayBuffer()) };
};

test('dialect svc: two same fetches are kept under their own hash, alarmed, still queued, and never called verified', async () => {
  const scene = await sceneWith('svc');
  const file = join(scene.dataDir, 'custom', versionHash, keccak);
  await scene.until('kept', async () => (await ask(scene, `/v1/custom/${versionHash}/${keccak}`)).status === 200);
  expect(existsSync(file)).toBe(true);
  expect((await ask(scene, `/v1/custom/${versionHash}/${keccak}`)).body.equals(bytes)).toBe(true);
  await scene.until('alarmed', () => scene.conditions().includes('archive/custom-commitment'));
  // The content stays in the queue.
  expect(scene.archive.status().content).toMatchObject({ seen: 1, spooled: 0, stored: 0 });
  expect(await scene.record(versionHash)).toMatchObject({
    state: 'seen',
    lastFailure: { code: 'archive/wrong-bytes' },
  });
  for (const path of [`/v1/blobs/${versionHash}`, `/vh/${versionHash}`, `/get/0x00${versionHash}`]) {
    expect((await ask(scene, path)).status).toBe(503);
  }
  const checked = await fetch(`${scene.url}/check_vh`, { method: 'POST', body: JSON.stringify([versionHash]) });
  expect(await checked.json()).toEqual([false]);
  // A class of its own: neither pending nor lost, and the block counts as accounted for.
  const report = await scene.archive.auditChain({ from: 121, to: null }, new AbortController().signal);
  expect(report.occurrences).toMatchObject({ custom: 1, pending: 0, lost: 0 });
  await scene.finalUpTo(122);
  expect((await ask(scene, '/lastblock')).status).toBe(200);
  expect((await ask(scene, `/v1/custom/${versionHash}/${'ab'.repeat(32)}`)).status).toBe(404);
  // Damaged on the disk, it does not leave; while the node has it, it is brought back.
  writeFileSync(file, 'something else');
  const status = async () => (await ask(scene, `/v1/custom/${versionHash}/${keccak}`)).status;
  expect(await status()).toBe(503);
  await scene.until('brought back', async () => (await status()) === 200);
  // Past its deadline it is what it was, and not lost.
  scene.mine(7 * HOUR_BLOCKS);
  await scene.until('walked', () => scene.archive.status().chain.height === scene.node.chain.tip.height);
  const later = await scene.archive.auditChain({ from: 121, to: null }, new AbortController().signal);
  expect(later.occurrences).toMatchObject({ custom: 1, lost: 0 });
  // With nothing left of it, it counts as any blob that no place has.
  writeFileSync(file, 'something else');
  expect(await status()).toBe(503);
  await scene.until('lost', async () => (await scene.audit()).occurrences.lost === 1);
  await scene.until('its alarm is over', () => !scene.conditions().includes('archive/custom-commitment'));
});

test('dialect svc: kept, it is asked of every other node all the same, and once more before the deadline', async () => {
  const other = await createDevnode({ dialect: 'svc', clock: { nowSeconds: () => 1_790_000_000 }, workload: null });
  onTestFinished(() => other.close());
  const scene = await Scene.create({
    node: { dialect: 'svc' },
    nodes: [other],
    env: { HOLDFAST_NODE_DIALECT: 'svc' },
  });
  const mineOnBoth = (blocks: number) => {
    for (const node of [scene.node, other])
      for (let block = 0; block < blocks; block += 1) {
        node.advanceSeconds(BLOCK_SECONDS);
        node.mine();
      }
    expect(other.chain.tip.hash).toBe(scene.node.chain.tip.hash);
  };
  for (const node of [scene.node, other]) node.submitBlob(bytes, { hashType: 'keccak256', versionHash });
  // A single get and no page: each node is asked for this blob by name.
  const [first, second] = [countGets(scene.node, versionHash), countGets(other, versionHash)];
  mineOnBoth(2);
  await scene.start();
  await scene.until('kept', async () => (await ask(scene, `/v1/custom/${versionHash}/${keccak}`)).status === 200);
  await scene.until('both were asked', () => first.count > 0 && second.count > 0);
  // Ten minutes are left of its window.
  mineOnBoth(6 * HOUR_BLOCKS - 4);
  await scene.until('at the tip', () => scene.archive.status().chain.height === scene.node.chain.tip.height);
  const before = first.count + second.count;
  await scene.until('asked once more', () => first.count + second.count > before);
  expect((await scene.record(versionHash))?.state).toBe('seen');
  expect(scene.archive.status().content).toMatchObject({ seen: 1, stored: 0 });
});

test('dialect svc: an outage ends once all that is not a kept custom commitment is stored', async () => {
  const scene = await Scene.create({ node: { dialect: 'svc' }, env: { HOLDFAST_NODE_DIALECT: 'svc' } });
  await scene.start();
  scene.mine(1);
  await scene.caughtUp();
  await scene.stop();
  scene.node.submitBlob(bytes, { hashType: 'keccak256', versionHash });
  scene.mine(HOUR_BLOCKS, 1);
  await scene.start();
  await scene.until('the gap is closed', () => scene.archive.status().chain.outage?.endedAt != null);
  expect(scene.archive.status().chain.outage).toMatchObject({
    mayBeLost: null,
    savable: null,
    outcome: { stored: HOUR_BLOCKS, custom: 1, pending: 0, lost: 0 },
  });
});

test('dialect svc: bytes that match, at another node, end it; what was kept apart stays apart', async () => {
  const other = await createDevnode({ dialect: 'svc', clock: { nowSeconds: () => 1_790_000_000 }, workload: null });
  onTestFinished(() => other.close());
  const scene = await Scene.create({
    node: { dialect: 'svc' },
    nodes: [other],
    env: { HOLDFAST_NODE_DIALECT: 'svc' },
  });
  const blob = scene.submit(300);
  other.submitBlob(blob.bytes, { hashType: blob.hashType });
  for (const node of [scene.node, other]) {
    node.advanceSeconds(BLOCK_SECONDS);
    node.mine();
    // The same damage every time, and at both at first.
    node.faults.add({ fault: { kind: 'wrong-size', byBytes: 1 }, methods: ['getnevmblobdata', 'listnevmblobdata'] });
  }
  const kept = join(scene.dataDir, 'custom', blob.versionHash);
  await scene.start();
  await scene.until('kept', () => existsSync(kept));
  expect((await scene.record(blob.versionHash))?.state).toBe('seen');
  other.faults.clear();
  await scene.until('stored', async () => (await scene.record(blob.versionHash))?.state === 'stored');
  expect(Buffer.from((await ask(scene, `/v1/blobs/${blob.versionHash}`)).body).equals(blob.bytes)).toBe(true);
});

test('in every other dialect the same is damage: nothing of it is kept', async () => {
  const scene = await sceneWith('syscoin-5');
  const tries = async () => (await scene.record(versionHash))?.lastFailure?.attempts ?? 0;
  await scene.until('asked three times', async () => (await tries()) >= 3);
  expect(existsSync(join(scene.dataDir, 'custom'))).toBe(false);
  expect((await ask(scene, `/v1/custom/${versionHash}/${keccak}`)).status).toBe(404);
  const report = await scene.archive.auditChain({ from: 121, to: null }, new AbortController().signal);
  expect(report.occurrences).toMatchObject({ custom: 0, pending: 1 });
});

test('a new catalog in another dialect ignores files that were placed below custom/, and they hide no missing blob', async () => {
  const scene = await sceneWith('syscoin-5');
  await scene.stop();
  for (const name of ['catalog.sqlite', 'catalog.sqlite-wal', 'catalog.sqlite-shm'])
    rmSync(join(scene.dataDir, name), { force: true });
  const folder = join(scene.dataDir, 'custom', versionHash);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, keccak), bytes);
  await scene.start();
  await scene.until('told', () => scene.conditions().includes('archive/refused-custom'));
  await scene.until('walked', () => scene.archive.status().chain.height === scene.node.chain.tip.height);
  expect((await ask(scene, `/v1/custom/${versionHash}/${keccak}`)).status).not.toBe(200);
  const report = await scene.archive.auditChain({ from: 121, to: null }, new AbortController().signal);
  expect(report.occurrences).toMatchObject({ custom: 0, pending: 1 });
  expect(readFileSync(join(folder, keccak)).equals(bytes)).toBe(true);
});
