import { createHash } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { encodeHex } from '../../../src/blob/hex.ts';
import { hashWith, nobleHasher } from '../../../src/verify/hasher.ts';
import { sampleBytes } from '../../sample-blobs.ts';
import { HOUR_BLOCKS, Scene } from '../../scenario/archive-on-devnode.ts';

const TEST_MS = 60_000;
const bytes = sampleBytes('committed to by another hash', 300);
const keccak = encodeHex(hashWith(nobleHasher, 'keccak256', bytes));
/** By a hash that no dialect knows. */
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

test(
  'dialect svc: two same fetches are kept under their own hash, alarmed, still queued, and never called verified',
  async () => {
    const scene = await sceneWith('svc');
    const file = join(scene.dataDir, 'custom', versionHash, keccak);
    await scene.until('kept', async () => (await ask(scene, `/v1/custom/${versionHash}/${keccak}`)).status === 200);
    expect(existsSync(file)).toBe(true);
    expect((await ask(scene, `/v1/custom/${versionHash}/${keccak}`)).body.equals(bytes)).toBe(true);
    await scene.until('alarmed', () => scene.conditions().includes('archive/custom-commitment'));
    // It is not done with that.
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
    // Its own class: neither pending nor lost, and the block counts as accounted for.
    const report = await scene.archive.auditChain({ from: 121, to: null }, new AbortController().signal);
    expect(report.occurrences).toMatchObject({ custom: 1, pending: 0, lost: 0 });
    await scene.finalUpTo(122);
    expect((await ask(scene, '/lastblock')).status).toBe(200);
    expect((await ask(scene, `/v1/custom/${versionHash}/${'ab'.repeat(32)}`)).status).toBe(404);
    // Damaged on the disk, it does not leave.
    writeFileSync(file, 'something else');
    expect((await ask(scene, `/v1/custom/${versionHash}/${keccak}`)).status).toBe(503);
    // Past its deadline it is what it was, and not lost.
    scene.mine(7 * HOUR_BLOCKS);
    await scene.until('walked', () => scene.archive.status().chain.height === scene.node.chain.tip.height);
    const later = await scene.archive.auditChain({ from: 121, to: null }, new AbortController().signal);
    expect(later.occurrences).toMatchObject({ custom: 1, lost: 0 });
  },
  TEST_MS,
);

test(
  'in every other dialect the same is damage: nothing of it is kept',
  async () => {
    const scene = await sceneWith('syscoin-5');
    const tries = async () => (await scene.record(versionHash))?.lastFailure?.attempts ?? 0;
    await scene.until('asked three times', async () => (await tries()) >= 3);
    expect(existsSync(join(scene.dataDir, 'custom'))).toBe(false);
    expect((await ask(scene, `/v1/custom/${versionHash}/${keccak}`)).status).toBe(404);
    const report = await scene.archive.auditChain({ from: 121, to: null }, new AbortController().signal);
    expect(report.occurrences).toMatchObject({ custom: 0, pending: 1 });
  },
  TEST_MS,
);
