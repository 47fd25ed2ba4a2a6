import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import { readWhole } from '../read-whole.ts';
import { BLOCK_SECONDS, nameOf, Scene } from './archive-on-devnode.ts';

const NEVER = new AbortController().signal;

/** Longer than all scenes of the property take on a busy machine, so that it ends a hang alone. */
const SCENES_MS = 1_800_000;

/** Events that the chain, its node or we can run into. */
const event = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('mine' as const),
      blocks: fc.integer({ min: 1, max: 6 }),
      blobs: fc.integer({ min: 0, max: 3 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('reorganise' as const),
      depth: fc.integer({ min: 1, max: 8 }),
      drop: fc.boolean(),
      remine: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lock gap' as const), on: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('node restart' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('our restart' as const), blocks: fc.integer({ min: 0, max: 60 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('without bytes' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('settle' as const) }) },
);
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

async function happen(scene: Scene, what: Event): Promise<void> {
  const { node } = scene;
  switch (what.do) {
    case 'mine':
      scene.mine(what.blocks, what.blobs);
      return;
    case 'reorganise': {
      // A ChainLock is what the network never goes back behind: an honest node reorganises above it only.
      const locked = node.chain.locks.bestBlock?.height ?? 0;
      const depth = Math.min(what.depth, node.chain.tip.height - locked, node.chain.tip.height - 121);
      if (depth < 1) return;
      const victim = scene.blobs.at(-1)?.txid;
      node.reorganise(depth, { remine: what.remine, drop: what.drop && victim !== undefined ? [victim] : [] });
      return;
    }
    case 'lock gap':
      node.setChainLocks(what.on ? { kind: 'none' } : { kind: 'follow', lagBlocks: 1 });
      return;
    case 'node restart':
      await node.goAway();
      scene.mine(1, 1);
      await node.comeBack();
      return;
    case 'our restart':
      await scene.stop();
      scene.mine(what.blocks, 1);
      await scene.start();
      return;
    case 'without bytes':
      scene.submit();
      node.advanceSeconds(BLOCK_SECONDS);
      node.mine(1, { withoutBytes: true });
      return;
    case 'settle':
      await scene.until('at the tip', () => scene.archive.status().chain.height === node.chain.tip.height);
      return;
    default:
      what satisfies never;
  }
}

/** Every claim that is made of any blob now, held against the chain itself. */
async function expectTrueClaims(scene: Scene): Promise<void> {
  const { chain } = scene.node;
  for (const { versionHash, bytes } of scene.blobs) {
    const record = await scene.record(versionHash);
    if (record === null) continue;
    if (record.state === 'stored') {
      const lookup = await readWhole(scene.archive, nameOf(versionHash), NEVER);
      expect(lookup.kind === 'found' && Buffer.from(lookup.blob.bytes).equals(bytes)).toBe(true);
    }
    for (const occurrence of record.occurrences.filter(({ state }) => state === 'final')) {
      const block = chain.tree.get(occurrence.blockHash ?? '');
      expect(block?.transactions.some(({ txid }) => txid === occurrence.txid)).toBe(true);
      expect(block !== null && chain.tree.isActive(block) && chain.locks.covers(block)).toBe(true);
    }
  }
}

/** At rest: the audit says of every occurrence on chain what the chain and the node's cache say of it. */
async function expectAuditIsTruth(scene: Scene): Promise<void> {
  const { chain } = scene.node;
  const { startHeight } = scene.archive.status().chain;
  const onChain: string[] = [];
  for (const block of chain.tree.activeBlocks()) {
    if (block.height < (startHeight ?? 0)) continue;
    for (const { content } of block.transactions) if (content !== null) onChain.push(content.versionHash);
  }
  const isSettled = async () => {
    const { range, occurrences, findings } = await scene.audit();
    const waiting = findings.filter(
      ({ class: found, isSpooled, versionHash }) =>
        found === 'pending' && (isSpooled || chain.cache.get(parseVersionHash(versionHash)) !== null),
    );
    const sum = Object.values(occurrences).reduce((total, count) => total + count, 0);
    return range.to === chain.tip.height && sum === onChain.length && waiting.length === 0;
  };
  await scene.until('the audit says what the chain says', isSettled);
  const report = await scene.audit();
  expect(report.unexamined).toEqual([]);
  // The node has not got the blobs that are not stored, either.
  for (const { versionHash } of report.findings) expect(chain.cache.get(parseVersionHash(versionHash))).toBeNull();
}

test('no claim is false, whatever happens in whatever order', { timeout: SCENES_MS }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 4, maxLength: 14 }), async (events) => {
      const scene = await Scene.create();
      await scene.start();
      try {
        for (const what of events) {
          await happen(scene, what);
          await expectTrueClaims(scene);
        }
        // Long locks may have been missing: one comes, and everything has to settle.
        scene.node.setChainLocks({ kind: 'follow', lagBlocks: 1 });
        scene.mine(2, 1);
        await expectAuditIsTruth(scene);
        await expectTrueClaims(scene);
      } finally {
        await scene.stop();
        await scene.node.close();
      }
    }),
    { numRuns: Number(process.env['HOLDFAST_TEST_RUNS'] ?? 12), seed: 20_261_121 },
  );
});
