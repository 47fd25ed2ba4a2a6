import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LyingServer } from '../e2e/backends/lying-server.ts';
import { holdfastHere } from '../e2e/holdfast-here.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { HOUR_BLOCKS, nameOf, Scene } from './archive-on-devnode.ts';

const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };

function bucket({ endpoint }: LyingServer): Record<string, string> {
  const path = join(temporaryFolder(), 'config.json');
  const list = [{ kind: 's3', id: 'bucket', endpoint, bucket: 'bucket', ...credentials }];
  writeFileSync(path, JSON.stringify({ backends: list }));
  return { HOLDFAST_CONFIG: path, HOLDFAST_LOCAL_MODE: 'cache' };
}

const recordsIn = ({ objects }: LyingServer) => [...objects.keys()].filter((key) => key.startsWith('occurrences/'));

/** Blobs in the first blocks, final and with their records in the bucket; then ten hours, and no daemon any more. */
async function archivedLongAgo() {
  const server = await LyingServer.start();
  const env = bucket(server);
  const scene = await Scene.create({ env });
  await scene.start();
  const old = scene.mine(3, 2);
  scene.mine(2);
  await scene.finalUpTo(124);
  await scene.until('records written', () => recordsIn(server).length >= old.length);
  const { startHeight } = scene.archive.status().chain;
  await scene.stop();
  scene.mine(10 * HOUR_BLOCKS);
  return { scene, env, old, startHeight: startHeight ?? 0, server };
}

/** Never told that they are not final: either it is not known, or they are. */
async function untilFinalAgain(scene: Scene, old: readonly { versionHash: string; height: number }[]): Promise<void> {
  await scene.until('final again', () =>
    old.every(({ versionHash }) => {
      const answer = scene.archive.chainView.storedAndFinal([nameOf(versionHash).versionHash]);
      expect(answer).not.toEqual({ kind: 'told', safe: [false] });
      return answer.kind === 'told';
    }),
  );
  for (const { versionHash } of old) expect(await scene.states(versionHash)).toEqual(['final']);
}

describe('an archive whose data folder is lost', () => {
  test('walks down to the lowest height that records in its bucket name, and knows again what is final', async () => {
    const { scene, old } = await archivedLongAgo();
    rmSync(scene.dataDir, { recursive: true });
    await scene.start();
    await untilFinalAgain(scene, old);
    const { chain } = scene.archive.status();
    // The window's: nothing below is queued again, and all of it is known.
    expect(chain.startHeight).toBeGreaterThan(Math.max(...old.map(({ height }) => height)));
    expect(scene.archive.status().content).toMatchObject({ seen: 0, stored: old.length });
    expect(chain.lost).toBe(0);
    const report = await scene.audit();
    expect(report).toMatchObject({ isComplete: true, range: { from: Math.min(...old.map(({ height }) => height)) } });
    // The rebuild is over, and stays so over a restart.
    await scene.until('told no more', () => !scene.conditions().includes('catalog/rebuilding'));
    await scene.stop();
    await scene.start();
    await untilFinalAgain(scene, old);
  });

  test('does the same behind a rebuild that ran alone', async () => {
    const { scene, env, old } = await archivedLongAgo();
    rmSync(scene.dataDir, { recursive: true });
    const url = scene.node.url.replace('//', `//${scene.node.username}:${scene.node.password}@`);
    const words = { HOLDFAST_DATA_DIR: scene.dataDir, HOLDFAST_NODE_URL: url, ...env };
    expect(await holdfastHere(['rebuild'], { env: words })).toMatchObject({ code: 0 });
    await scene.start();
    await untilFinalAgain(scene, old);
  });

  test('does not take up more of the node than one walk over these blocks', async () => {
    const { scene, old } = await archivedLongAgo();
    rmSync(scene.dataDir, { recursive: true });
    await scene.start();
    await untilFinalAgain(scene, old);
    const { block = 0 } = scene.archive.status().node.calls;
    const walked = scene.node.chain.tip.height - Math.min(...old.map(({ height }) => height)) + 1;
    expect(block).toBeGreaterThanOrEqual(walked);
    expect(block).toBeLessThanOrEqual(2 * walked);
  });
});

test('blobs that the node kept in a gap of ChainLocks are on chain for an archive that begins then', async () => {
  const scene = await Scene.create();
  scene.node.setChainLocks({ kind: 'none' });
  const kept = scene.mine(1, 3);
  scene.mine(9 * HOUR_BLOCKS);
  expect(scene.node.chain.cache.size).toBe(3);
  await scene.start();
  await scene.caughtUp();
  expect(scene.archive.status().chain.startHeight).toBeLessThanOrEqual(kept[0]?.height ?? 0);
  for (const { versionHash } of kept) expect(await scene.states(versionHash)).toEqual(['mined']);
  scene.node.setChainLocks({ kind: 'follow', lagBlocks: 1 });
  scene.mine(2);
  await scene.finalUpTo(kept[0]?.height ?? 0);
  const hashes = kept.map(({ versionHash }) => nameOf(versionHash).versionHash);
  expect(scene.archive.chainView.storedAndFinal(hashes)).toEqual({ kind: 'told', safe: [true, true, true] });
});
