import { expect, test } from 'vitest';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import { BLOCK_SECONDS, HOUR_BLOCKS, Scene } from './archive-on-devnode.ts';

/** Deterministic: the same two days every time. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Blobs of a block at its limit: small ones (64 bytes), because hours are to pass in milliseconds. */
const FULL = 32;
/** Blobs of any other block: a few of them show as much as many. Now and then one of 100 KB comes besides. */
const USUAL = 4;
const LARGE_BYTES = 100_000;

/** Some hours of blocks, with what happens to real chains; we look on. */
async function hours(scene: Scene, count: number, below: (most: number) => number): Promise<void> {
  const { node } = scene;
  for (let block = 0; block < count * HOUR_BLOCKS; block += 4) {
    if (below(12) === 0) scene.submit(LARGE_BYTES);
    scene.mine(4, USUAL);
    const above = node.chain.tip.height - (node.chain.locks.bestBlock?.height ?? 0);
    if (below(6) === 0) node.setChainLocks({ kind: 'none' });
    if (below(4) === 0) node.setChainLocks({ kind: 'follow', lagBlocks: 1 });
    if (above > 1 && below(3) === 0) node.reorganise(Math.min(above - 1, 1 + below(5)));
    if (below(20) === 0) {
      await node.goAway();
      scene.mine(1, 1);
      await node.comeBack();
    }
    if (below(3) === 0) await scene.caughtUp();
  }
  node.setChainLocks({ kind: 'follow', lagBlocks: 1 });
  scene.mine(1);
  await scene.caughtUp();
}

/** Mines the blocks of so many hours while the archive is away. Those of the first hour are filled to their limit. */
function hoursAlone(scene: Scene, count: number): { versionHash: string; height: number }[] {
  return [...scene.mine(HOUR_BLOCKS, FULL), ...scene.mine((count - 1) * HOUR_BLOCKS, USUAL)];
}

/** Contents on chain whose bytes no place has any more. */
function gone(scene: Scene, stored: (versionHash: string) => boolean): string[] {
  const { chain } = scene.node;
  const { startHeight } = scene.archive.status().chain;
  const missing = new Set<string>();
  for (const block of chain.tree.activeBlocks()) {
    if (block.height < (startHeight ?? 0)) continue;
    for (const { content } of block.transactions) {
      if (content === null || stored(content.versionHash)) continue;
      expect(chain.cache.get(parseVersionHash(content.versionHash))).toBeNull();
      missing.add(content.versionHash);
    }
  }
  return [...missing].sort();
}

test('two days: reorganisations, gaps, restarts, an outage of five hours, holes at the node, one of seven hours', {
  timeout: 1_800_000,
}, async () => {
  const below = random(20_261_121);
  const scene = await Scene.create();
  await scene.start();
  await hours(scene, 10, below);
  await scene.stop();
  hoursAlone(scene, 5);
  await scene.start();
  await scene.caughtUp();
  expect(scene.archive.status().chain.lost).toBe(0);
  await hours(scene, 10, below);
  expect(await scene.audit()).toMatchObject({ isComplete: true });

  // The node was down for an hour, and connects what it missed without the bytes.
  await scene.stop();
  const holes: string[] = [];
  for (let block = 0; block < HOUR_BLOCKS; block += 1) {
    holes.push(scene.submit().versionHash);
    scene.node.advanceSeconds(BLOCK_SECONDS);
    scene.node.mine(1, { withoutBytes: true });
  }
  const away = hoursAlone(scene, 7);
  await scene.start();
  const pruned = [...holes, ...away.map(({ versionHash }) => versionHash)].filter(
    (versionHash) => scene.node.chain.cache.get(parseVersionHash(versionHash)) === null,
  );
  // Transactions that reorganisations gave back to the memory pool fill the first blocks: of the others more than a block is gone.
  expect(pruned.length).toBeGreaterThan(holes.length + FULL);
  await scene.until('what is lost is told', () => scene.archive.status().chain.lost >= pruned.length);
  await scene.caughtUp();
  await scene.until('the gap is closed', () => scene.archive.status().chain.outage?.endedAt != null);
  expect(scene.archive.status().chain.outage?.outcome).toMatchObject({ pending: 0, lost: pruned.length });
  await hours(scene, 15, below);

  const lost = scene.archive.losses(null, 100_000).map(({ versionHash }) => versionHash);
  const report = await scene.audit();
  const open = new Set(report.findings.map(({ versionHash }) => String(versionHash)));
  // Exactly the pruned ones, each named, and nothing of what else happened.
  expect([...lost].sort()).toEqual([...pruned].sort());
  expect(gone(scene, (versionHash) => !open.has(versionHash))).toEqual([...lost].sort());
  for (const hole of holes) expect(lost).toContain(hole);
  expect(report).toMatchObject({ unexamined: [], findingCount: report.occurrences.lost });
});
