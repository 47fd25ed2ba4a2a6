import { describe, expect, test } from 'vitest';
import { readWhole } from '../read-whole.ts';
import { HOUR_BLOCKS, nameOf, Scene } from './archive-on-devnode.ts';

const NEVER = new AbortController().signal;
const DAY_SECONDS = 86_400;

/** The walk has been under way for longer than what a node may have listed as it began. No reader keeps bytes in memory. */
async function underWay(): Promise<Scene> {
  const scene = await Scene.create({ env: { HOLDFAST_HTTP_CACHE_BYTES: '0' } });
  await scene.start();
  await scene.caughtUp();
  scene.mine(9 * HOUR_BLOCKS);
  await scene.caughtUp();
  return scene;
}

/** Time goes by on the chain, as fast as a few blocks can say it. */
async function pass(scene: Scene, days: number): Promise<void> {
  scene.node.advanceSeconds(days * DAY_SECONDS);
  scene.mine(12);
  await scene.until('at the tip', () => scene.archive.status().chain.height === scene.node.chain.tip.height);
}

describe('an unmined transaction', () => {
  test('has bytes that are served while it waits, expire with a record when its node forgot it, and come again when mined', async () => {
    const scene = await underWay();
    const { node } = scene;
    // A block without it: it is only listed.
    const blob = scene.submit();
    await scene.until('here', async () => (await scene.record(blob.versionHash))?.state === 'stored');
    expect(await scene.states(blob.versionHash)).toEqual(['unconfirmed']);
    const safe = () => scene.archive.chainView.storedAndFinal([nameOf(blob.versionHash).versionHash]);
    expect(safe()).toMatchObject({ kind: 'told', safe: [false] });
    node.dropTransaction(blob.txid);
    await pass(scene, 14);
    expect((await readWhole(scene.archive, nameOf(blob.versionHash), NEVER)).kind).toBe('found');
    await pass(scene, 2);
    await scene.until('let go', async () => (await scene.record(blob.versionHash)) === null);
    await scene.until(
      'absent',
      async () => (await readWhole(scene.archive, nameOf(blob.versionHash), NEVER)).kind === 'absent',
    );
    expect(safe()).toMatchObject({ kind: 'told', safe: [false] });
    // Sent again, and mined.
    node.submitBlob(blob.bytes, { hashType: blob.hashType });
    scene.mine(2);
    await scene.caughtUp();
    await scene.finalUpTo(node.chain.tip.height - 1);
    await scene.until('stored again', async () => (await scene.record(blob.versionHash))?.state === 'stored');
    expect(await scene.states(blob.versionHash)).toEqual(['final']);
  });

  test('does not expire while its node lists it', async () => {
    const scene = await underWay();
    const blob = scene.submit();
    await scene.until('here', async () => (await scene.record(blob.versionHash))?.state === 'stored');
    for (let block = 0; block < 12; block += 1) {
      scene.node.advanceSeconds(2 * DAY_SECONDS);
      scene.node.mine(1, { selection: { kind: 'only', txids: [] } });
    }
    await scene.until('at the tip', () => scene.archive.status().chain.height === scene.node.chain.tip.height);
    const forgotten = scene.submit();
    scene.node.dropTransaction(forgotten.txid);
    expect(await scene.record(blob.versionHash)).toMatchObject({ state: 'stored' });
    scene.mine(1);
    await scene.caughtUp();
    expect(await scene.record(blob.versionHash)).toMatchObject({
      state: 'stored',
      occurrences: [{ txid: blob.txid, height: scene.node.chain.tip.height }],
    });
  });
});
