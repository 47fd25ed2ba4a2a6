import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createDevnode } from '../../src/devnode/index.ts';
import { freePort } from '../servers/child-server.ts';
import { BLOCK_SECONDS, nameOf, Scene } from './archive-on-devnode.ts';

/** Longer than all scenes of the property take on a busy machine, so that it ends a hang alone. */
const SCENES_MS = 1_800_000;

/** Events on two nodes that have parted. */
const inConflict = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('mine' as const),
      blocks: fc.integer({ min: 1, max: 4 }),
      blobs: fc.integer({ min: 0, max: 2 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('theirs' as const), blocks: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('their restart' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('our restart' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('our restart without them' as const) }) },
);

test('while nodes disagree, nothing above their last common block is called final', {
  timeout: SCENES_MS,
}, async () => {
  const before = fc.integer({ min: 1, max: 4 });
  const scenes = fc.asyncProperty(
    before,
    fc.array(inConflict, { minLength: 2, maxLength: 6 }),
    async (blocks, events) => {
      const same = { clock: { nowSeconds: () => 1_790_000_000 }, workload: null };
      const other = await createDevnode({ ...same, port: await freePort() });
      const scene = await Scene.create({ nodes: [other] });
      try {
        for (let block = 0; block < blocks; block += 1) {
          const { bytes, hashType } = scene.submit();
          other.submitBlob(bytes, { hashType });
          for (const node of [scene.node, other]) {
            node.advanceSeconds(BLOCK_SECONDS);
            node.mine();
          }
        }
        const common = scene.node.chain.tip.height;
        expect(other.chain.tip.hash).toBe(scene.node.chain.tip.hash);
        await scene.start();
        other.advanceSeconds(7);
        other.mine(2);
        scene.mine(2, 1);
        const conflict = () => scene.conditions().includes('chain/nodes-conflict');
        await scene.until('conflict', conflict);
        for (const what of events) {
          if (what.do === 'mine') scene.mine(what.blocks, what.blobs);
          else if (what.do === 'theirs') other.mine(what.blocks);
          else if (what.do === 'our restart') {
            await scene.stop();
            await scene.start();
          } else if (what.do === 'our restart without them') {
            await scene.stop();
            await other.goAway();
            await scene.start();
            scene.mine(2, 1);
            // Earlier claims have to hold while the nodes say nothing.
            await scene.until('walked alone', async () => {
              await expectNothingFinalAbove(scene, common);
              return scene.archive.status().chain.height === scene.node.chain.tip.height && conflict();
            });
            await other.comeBack();
          } else {
            await other.goAway();
            scene.mine(1, 1);
            await other.comeBack();
          }
          await scene.until('walked', async () => {
            await expectNothingFinalAbove(scene, common);
            return scene.archive.status().chain.height === scene.node.chain.tip.height && conflict();
          });
        }
      } finally {
        await scene.stop();
        await Promise.all([scene.node.close(), other.close()]);
      }
    },
  );
  await fc.assert(scenes, { numRuns: Number(process.env['HOLDFAST_TEST_RUNS'] ?? 5), seed: 20_261_122 });
});

async function expectNothingFinalAbove(scene: Scene, common: number): Promise<void> {
  expect(scene.archive.status().chain.finalHeight ?? 0).toBeLessThanOrEqual(common);
  for (const { versionHash, txid } of scene.blobs) {
    if ((scene.node.chain.tree.blockOf(txid)?.height ?? 0) <= common) continue;
    expect(await scene.states(versionHash)).not.toContain('final');
    const answer = scene.archive.chainView.storedAndFinal([nameOf(versionHash).versionHash]);
    expect(answer.kind === 'told' && answer.safe[0]).toBe(false);
  }
}
