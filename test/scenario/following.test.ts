import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import { parseOccurrenceRecord, verifyOccurrence } from '../../src/verify/index.ts';
import { HOUR_BLOCKS, Scene } from './archive-on-devnode.ts';

const recordsOf = (scene: Scene, versionHash: string) => {
  const folders = ['keccak256', 'blake2s256'].map((type) => join(scene.dataDir, 'occurrences', type, versionHash));
  return folders.flatMap((folder) => (existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []));
};

describe('following the chain', () => {
  test('the walk begins at the lowest height that can be saved, and that is never computed again', async () => {
    const scene = await Scene.create();
    scene.mine(10 * HOUR_BLOCKS);
    const { tip, tree } = scene.node.chain;
    await scene.start();
    await scene.caughtUp();
    const { startHeight } = scene.archive.status().chain;
    const lowest = [...tree.activeBlocks()].find(
      ({ medianTimeSeconds }) => medianTimeSeconds + 21_600 >= tip.medianTimeSeconds,
    );
    expect(startHeight).toBe(lowest?.height);
    await scene.stop();
    scene.mine(10 * HOUR_BLOCKS);
    await scene.start();
    await scene.caughtUp();
    expect(scene.archive.status().chain.startHeight).toBe(startHeight);
    expect(scene.archive.status().chain.height).toBe(scene.node.chain.tip.height);
  });

  test('a start above the tip is told, and not fixed: nothing counts as looked at, and it can be corrected', async () => {
    const scene = await Scene.create();
    const { height } = scene.node.chain.tip;
    await scene.start({ HOLDFAST_START_HEIGHT: String(height + 5_000) });
    const [blob] = scene.mine(2, 1);
    await scene.until('told', () => scene.conditions().includes('chain/start-height'));
    await scene.until('stored by the list', () => scene.archive.status().content.stored === 2);
    expect(scene.archive.status().chain).toMatchObject({ startHeight: null, lagBlocks: null });
    const asked = [parseVersionHash(blob?.versionHash ?? '')];
    expect(scene.archive.chainView.storedAndFinal(asked).kind).toBe('unavailable');
    await scene.stop();
    await scene.start({ HOLDFAST_START_HEIGHT: String(height + 1) });
    await scene.finalUpTo(height + 1);
    expect(scene.archive.status().chain.startHeight).toBe(height + 1);
    expect(scene.archive.chainView.storedAndFinal(asked)).toEqual({ kind: 'told', safe: [true] });
  });

  test('a blob goes from unconfirmed over mined to final, and its record proves it to a stranger', async () => {
    const scene = await Scene.create({ node: { chainLocks: { kind: 'none' } } });
    await scene.start();
    const blob = scene.submit();
    await scene.until('spooled', async () => (await scene.record(blob.versionHash))?.state === 'stored');
    expect(await scene.states(blob.versionHash)).toEqual(['unconfirmed']);
    scene.mine(2);
    await scene.caughtUp();
    expect(await scene.record(blob.versionHash)).toMatchObject({
      occurrences: [{ state: 'mined', txid: blob.txid, height: 121 }],
    });
    expect(recordsOf(scene, blob.versionHash)).toEqual([]);
    scene.node.announceChainLock(scene.node.chain.tip.hash, scene.node.chain.tip.height);
    scene.mine(1);
    await scene.finalUpTo(122);
    expect(await scene.states(blob.versionHash)).toEqual(['final']);
    await scene.until('its record', () => recordsOf(scene, blob.versionHash).length === 1);
    const [file = ''] = recordsOf(scene, blob.versionHash);
    const record = parseOccurrenceRecord(readFileSync(file, 'utf8'));
    expect(verifyOccurrence(blob.bytes, record)).toMatchObject({ ok: true });
  });

  test('a lock on a block that was not walked decides nothing, nor does an error', async () => {
    const scene = await Scene.create({ node: { chainLocks: { kind: 'none' } } });
    await scene.start();
    scene.mine(3, 1);
    await scene.caughtUp();
    scene.node.announceChainLock('ab'.repeat(32), 500);
    scene.mine(1);
    await scene.caughtUp();
    expect(scene.archive.status().chain.finalHeight).toBeNull();
  });

  test('finality by depth takes the configured number of confirmations', async () => {
    const scene = await Scene.create({
      node: { chainLocks: { kind: 'none' } },
      env: { HOLDFAST_FINALITY: 'depth:6' },
    });
    await scene.start();
    const [first] = scene.mine(6, 1);
    await scene.caughtUp();
    await scene.finalUpTo(121);
    expect(scene.archive.status().chain.finalHeight).toBe(121);
    expect(await scene.states(first?.versionHash ?? '')).toEqual(['final']);
  });
});

describe('reorganisations', () => {
  test('occurrences move, content stays; what is not mined again waits', async () => {
    const scene = await Scene.create({ node: { chainLocks: { kind: 'none' } } });
    await scene.start();
    const kept = scene.submit();
    const dropped = scene.submit();
    scene.mine(3);
    await scene.caughtUp();
    scene.node.reorganise(3, { blocks: 5, drop: [dropped.txid] });
    await scene.caughtUp();
    expect(await scene.record(kept.versionHash)).toMatchObject({ occurrences: [{ state: 'mined', height: 125 }] });
    expect(await scene.record(dropped.versionHash)).toMatchObject({
      state: 'stored',
      occurrences: [{ state: 'unconfirmed', height: null }],
    });
  });

  test('deep, while we were away: found by walking back, also over everything that was walked', async () => {
    const scene = await Scene.create({ node: { chainLocks: { kind: 'none' } } });
    await scene.start();
    scene.mine(60, 1);
    await scene.caughtUp();
    await scene.stop();
    scene.node.reorganise(100, { blocks: 130 });
    await scene.start();
    await scene.caughtUp();
    const { chain, content } = scene.archive.status();
    expect(chain.height).toBe(scene.node.chain.tip.height);
    expect(content).toMatchObject({ stored: 60, seen: 0 });
  });

  test('a final occurrence that reorganises is withdrawn loudly, and its record deleted', async () => {
    const scene = await Scene.create({
      node: { chainLocks: { kind: 'none' } },
      env: { HOLDFAST_FINALITY: 'depth:2' },
    });
    await scene.start();
    const blob = scene.submit();
    scene.mine(3);
    await scene.finalUpTo(122);
    await scene.until('its record', () => recordsOf(scene, blob.versionHash).length === 1);
    scene.node.reorganise(3, { blocks: 4, drop: [blob.txid] });
    await scene.caughtUp();
    expect(scene.conditions()).toContain('chain/final-withdrawn');
    expect(await scene.states(blob.versionHash)).toEqual(['unconfirmed']);
    await scene.until('no record', () => recordsOf(scene, blob.versionHash).length === 0);
    // The condition stands for a day of the chain, over a restart as well, also while no node answers.
    await scene.stop();
    await scene.node.goAway();
    await scene.start();
    await scene.until('told after the restart', () => scene.conditions().includes('chain/final-withdrawn'));
    await scene.node.comeBack();
    scene.mine(1);
    await scene.caughtUp();
    expect(scene.conditions()).toContain('chain/final-withdrawn');
    for (let hours = 0; hours < 25; hours += 1) {
      scene.node.advanceSeconds(3_600);
      scene.node.mine();
    }
    scene.mine(11);
    await scene.caughtUp();
    await scene.until('told no more', () => !scene.conditions().includes('chain/final-withdrawn'));
  });

  test('a node that went back in time withdraws nothing', async () => {
    const scene = await Scene.create();
    await scene.start();
    const [blob] = scene.mine(8, 1);
    await scene.caughtUp();
    await scene.finalUpTo(blob?.height ?? -1);
    scene.node.reorganise(5, { blocks: 0 });
    await scene.stop();
    await scene.start();
    await scene.until('told', () => scene.conditions().includes('chain/node-went-back'));
    expect(scene.archive.status().chain.height).toBe(128);
    expect(await scene.states(blob?.versionHash ?? '')).toEqual(['final']);
  });
});
