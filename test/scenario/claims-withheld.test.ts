import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readWhole } from '../read-whole.ts';
import { nameOf, Scene, type SceneBlob } from './archive-on-devnode.ts';

const NEVER = new AbortController().signal;

/** Longer than all scenes of the property take on a busy machine, so that it ends a hang alone. */
const SCENES_MS = 1_800_000;

/** Operators take blobs down and let them in again while the chain moves, and blobs leave the node's window. */
const event = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('mine' as const),
      blocks: fc.integer({ min: 1, max: 4 }),
      blobs: fc.integer({ min: 0, max: 2 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('withhold' as const), which: fc.nat(), purge: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('let in' as const), which: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('drop' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('hours pass' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('our restart' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('settle' as const) }) },
);
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

async function happen(scene: Scene, withheld: Set<string>, what: Event): Promise<void> {
  const { node } = scene;
  const one = 'which' in what ? scene.blobs[what.which % Math.max(1, scene.blobs.length)] : undefined;
  switch (what.do) {
    case 'mine':
      scene.mine(what.blocks, what.blobs);
      return;
    case 'withhold':
      if (one === undefined) return;
      withheld.add(one.versionHash);
      await scene.archive.takeDowns.withhold(
        nameOf(one.versionHash),
        { reason: 'a test', publicReason: null, purge: what.purge },
        NEVER,
      );
      return;
    case 'let in':
      if (one === undefined || !withheld.has(one.versionHash)) return;
      await scene.archive.takeDowns.revoke(nameOf(one.versionHash), NEVER);
      withheld.delete(one.versionHash);
      return;
    case 'drop': {
      // In a block that the network leaves, and in none from then on: it expires.
      const { txid } = scene.submit();
      scene.mine(1);
      const locked = node.chain.locks.bestBlock?.height ?? 0;
      if (node.chain.tip.height > locked) node.reorganise(1, { remine: false, drop: [txid] });
      return;
    }
    case 'hours pass':
      scene.mine(170);
      return;
    case 'our restart':
      await scene.stop();
      await scene.start();
      return;
    case 'settle':
      await scene.until('at the tip', () => scene.archive.status().chain.height === node.chain.tip.height);
      return;
    default:
      what satisfies never;
  }
}

/** Reports whether it is in a block of the node's branch that a ChainLock covers. */
function isFinal(scene: Scene, { txid }: SceneBlob): boolean {
  const { chain } = scene.node;
  const block = chain.tree.blockOf(txid);
  return block !== null && chain.tree.isActive(block) && chain.locks.covers(block);
}

async function expectTrueClaims(scene: Scene, withheld: ReadonlySet<string>): Promise<void> {
  for (const blob of scene.blobs) {
    const name = nameOf(blob.versionHash);
    // First the claim, then the bytes: what is not safe yet may be so a moment later.
    const told = scene.archive.chainView.storedAndFinal([name.versionHash]);
    const lookup = await readWhole(scene.archive, name, NEVER);
    if (withheld.has(blob.versionHash)) {
      expect(lookup.kind).toBe('withheld');
      expect(told).toEqual({ kind: 'told', safe: [false] });
      continue;
    }
    if (told.kind !== 'told' || told.safe[0] !== true) continue;
    expect(isFinal(scene, blob)).toBe(true);
    expect(lookup.kind === 'found' && Buffer.from(lookup.blob.bytes).equals(blob.bytes)).toBe(true);
  }
}

test('a withheld or expired blob is never claimed to be safe; one that is let in again, only when it is', {
  timeout: SCENES_MS,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 12 }), async (events) => {
      const scene = await Scene.create();
      const withheld = new Set<string>();
      await scene.start();
      try {
        scene.mine(2, 2);
        for (const what of events) {
          await happen(scene, withheld, what);
          await expectTrueClaims(scene, withheld);
        }
        scene.mine(2, 1);
        await scene.until('at the tip', () => scene.archive.status().chain.height === scene.node.chain.tip.height);
        await expectTrueClaims(scene, withheld);
      } finally {
        await scene.stop();
        await scene.node.close();
      }
    }),
    { numRuns: Number(process.env['HOLDFAST_TEST_RUNS'] ?? 6), seed: 20_261_123 },
  );
});
