import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { parseLossDocument } from '../../src/catalog/loss-document.ts';
import { deadlineOf } from '../../src/core/blob/limits.ts';
import { createDevnode } from '../../src/devnode/index.ts';
import { parseOccurrenceRecord, verifyOccurrence } from '../../src/verify/index.ts';
import { addressOf, HOUR_BLOCKS, Scene } from './archive-on-devnode.ts';

/** Blobs on the branch that the node follows, with their truth: can the node still give them? */
function truth(scene: Scene) {
  const { chain } = scene.node;
  const blobs = new Map<string, { height: number; atNode: boolean }>();
  for (const block of chain.tree.activeBlocks()) {
    for (const { content } of block.transactions) {
      if (content === null) continue;
      const atNode = chain.cache.get(content.versionHash) !== null;
      blobs.set(content.versionHash, { height: block.height, atNode });
    }
  }
  return blobs;
}

/** The evidence in the data folder for a reader who has nothing else, in the order of version hashes. */
function evidenceOf(scene: Scene) {
  const folder = join(scene.dataDir, 'audit', scene.archive.status().chain.evidence.archiverId, 'lost');
  if (!existsSync(folder)) return [];
  const names = z.array(z.string()).parse(readdirSync(folder, { recursive: true }));
  const texts = names.filter((name) => name.endsWith('.json')).map((name) => readFileSync(join(folder, name), 'utf8'));
  const documents = texts.map((text) => parseLossDocument(text)).filter((found) => found !== null);
  return documents.sort((a, b) => (a.versionHash < b.versionHash ? -1 : 1));
}

describe('an outage of the archive', () => {
  test('five hours: nothing is lost, the nearest deadline goes first', async () => {
    const scene = await Scene.create();
    await scene.start();
    scene.mine(HOUR_BLOCKS, 2);
    await scene.caughtUp();
    await scene.stop();
    scene.mine(5 * HOUR_BLOCKS, 2);
    await scene.start();
    await scene.caughtUp();
    expect(scene.archive.status()).toMatchObject({ content: { stored: 12 * HOUR_BLOCKS }, chain: { lost: 0 } });
    await scene.until('the gap is closed', () => scene.archive.status().chain.outage?.endedAt != null);
    expect(scene.archive.status().chain.outage).toMatchObject({
      kind: 'walk',
      to: scene.node.chain.tip.height,
      from: scene.node.chain.tip.height - 5 * HOUR_BLOCKS + 1,
      missedSeconds: 5 * 3_600,
      mayBeLost: null,
      outcome: { stored: 10 * HOUR_BLOCKS, pending: 0, lost: 0 },
    });
  });

  test('a first walk through a long chain is none, however many blocks come meanwhile', async () => {
    const scene = await Scene.create({ env: { HOLDFAST_START_HEIGHT: '1' } });
    scene.mine(1_000);
    // A slow node lets blocks come between the first commit, of 512 blocks, and the end of the walk.
    scene.node.faults.add({ fault: { kind: 'latency', ms: 50 }, methods: ['getblock'] });
    await scene.start();
    await scene.until('halfway', () => (scene.archive.status().chain.height ?? 0) > 500);
    scene.mine(1, 1);
    const tip = scene.node.chain.tip.height;
    await scene.until('it heard of that', () => scene.archive.status().node.height === tip);
    expect(scene.archive.status().chain.lagBlocks).toBeGreaterThan(12);
    await scene.caughtUp();
    expect(scene.archive.status().chain.outage).toBeNull();
  });

  test('seven hours: exactly the pruned ones are lost, each named, and a loss is not permanent', async () => {
    const scene = await Scene.create();
    await scene.start();
    scene.mine(HOUR_BLOCKS, 2);
    await scene.caughtUp();
    await scene.stop();
    const away = scene.mine(7 * HOUR_BLOCKS, 2);
    await scene.start();
    const known = truth(scene);
    const pruned = away.filter(({ versionHash }) => known.get(versionHash)?.atNode === false);
    expect(pruned.length).toBeGreaterThan(HOUR_BLOCKS);
    // The condition is told before any node was asked: a deadline is over by the chain's clock. The node prunes by its
    // chainlock, one block later: it still has the last of the blobs that are overdue, and may have given them by now.
    const { tip, tree } = scene.node.chain;
    const deadline = (height: number) => deadlineOf(tree.at(height)?.medianTimeSeconds ?? 0);
    const overdue = away.filter(({ height }) => deadline(height) < tip.medianTimeSeconds);
    expect(overdue).toHaveLength(pruned.length + 2);
    await scene.until('what may be lost is told', () => scene.conditions().includes('chain/outage'));
    const { mayBeLost } = scene.archive.status().chain.outage ?? {};
    expect(mayBeLost?.from).toBe(away[0]?.height);
    expect([pruned.at(-1)?.height, overdue.at(-1)?.height]).toContain(mayBeLost?.to);
    await scene.until('all is settled', () => scene.archive.status().chain.lost >= pruned.length);
    await scene.caughtUp();
    const lost = scene.archive.losses().map(({ versionHash }) => versionHash);
    expect(lost.sort()).toEqual(pruned.map(({ versionHash }) => versionHash).sort());
    expect(scene.archive.losses()[0]?.answers.map(({ source }) => source)).toEqual([
      'store local',
      `node ${scene.node.url}`,
    ]);
    expect(scene.conditions()).toContain('chain/lost');
    const evidence = () => evidenceOf(scene).filter(({ revokedAt }) => revokedAt === null);
    await scene.until('evidence', () => evidence().length === pruned.length);
    expect(evidence().map(({ versionHash }) => versionHash)).toEqual(lost);
    expect(scene.archive.status().content.stored).toBe(16 * HOUR_BLOCKS - pruned.length);
    await scene.until('the gap is closed', () => scene.archive.status().chain.outage?.endedAt != null);
    const outcome = { stored: away.length - pruned.length, pending: 0, lost: pruned.length };
    expect(scene.archive.status().chain.outage).toMatchObject({ mayBeLost: null, savable: null, outcome });
    expect(scene.conditions()).not.toContain('chain/outage');

    const again = scene.blobs.find(({ versionHash }) => versionHash === lost[0]);
    scene.node.submitBlob(again?.bytes ?? new Uint8Array(), { hashType: again?.hashType ?? 'keccak256' });
    await scene.until('revoked', () => scene.archive.status().chain.lost === lost.length - 1);
    await scene.until('told to whoever reads the evidence', () => evidence().length === lost.length - 1);
    expect(evidenceOf(scene)).toHaveLength(lost.length);
    expect((await scene.states(lost[0] ?? ''))[0]).toBe('final');
    // No record was made of bytes that no place held: it is made from its block again.
    const records = join(scene.dataDir, 'occurrences', again?.hashType ?? '', lost[0] ?? '');
    await scene.until('its record', () => existsSync(records) && readdirSync(records).length > 0);
    for (const file of readdirSync(records)) {
      const record = parseOccurrenceRecord(readFileSync(join(records, file), 'utf8'));
      expect(verifyOccurrence(again?.bytes ?? new Uint8Array(), record)).toMatchObject({ ok: true });
    }
  });
});

describe('blobs that the node has not got', () => {
  test('blocks that were connected without their bytes: told while there is time, lost when it is over', async () => {
    const scene = await Scene.create();
    await scene.start();
    scene.mine(12);
    await scene.caughtUp();
    await scene.stop();
    // The node was down, and connected the block long after.
    const blob = scene.submit();
    scene.node.advanceSeconds(150);
    scene.node.mine(1, { withoutBytes: true });
    scene.mine(1);
    await scene.start();
    await scene.until('walked', () => scene.archive.status().chain.height === scene.node.chain.tip.height);
    expect(await scene.record(blob.versionHash)).toMatchObject({ state: 'seen' });
    await scene.until('the node lacks it', () => scene.conditions().includes('chain/node-lacks-bytes'));
    // No node listed it.
    expect((await scene.record(blob.versionHash))?.lastFailure?.message).toMatch(/^A block names .* has not got it/);
    const { from, to, lacking, mayBeLost } = scene.archive.status().chain.outage ?? {};
    expect({ from, to, lacking, mayBeLost }).toMatchObject({
      from: 133,
      to: 133,
      lacking: { blobs: 1, from: 133, to: 133, slackSeconds: expect.any(Number) },
      mayBeLost: null,
    });
    // A stop in between forgets nothing of it.
    await scene.stop();
    await scene.start();
    await scene.until('it is told again', () => scene.conditions().includes('chain/node-lacks-bytes'));
    expect(scene.archive.status().chain.outage?.from).toBe(133);
    scene.mine(3.5 * HOUR_BLOCKS);
    await scene.until('told', () => scene.conditions().includes('chain/at-risk-50'));
    scene.mine(2.5 * HOUR_BLOCKS + 8);
    await scene.until('lost', () => scene.archive.status().chain.lost === 1);
  });

  test('a node that is added after a loss is asked as well, and what it has is saved', async () => {
    const clock = { nowSeconds: () => 1_790_000_000 };
    const scene = await Scene.create({ node: { seed: 'newcomer', clock } });
    const newcomer = await createDevnode({ seed: 'newcomer', clock, workload: null });
    onTestFinished(() => newcomer.close());
    await scene.start();
    await scene.caughtUp();
    const blobs = [scene.submit(), scene.submit()];
    scene.node.advanceSeconds(150);
    scene.node.mine(1, { withoutBytes: true });
    scene.mine(6 * HOUR_BLOCKS + 8);
    await scene.until('lost', () => scene.archive.status().chain.lost === 2);
    await scene.stop();
    // The other node saw one of them, at the time, and has stood still since.
    const [had, other] = blobs;
    newcomer.submitBlob(had?.bytes ?? new Uint8Array(), { hashType: had?.hashType ?? 'keccak256' });
    await scene.start({ HOLDFAST_NODE_URL: [scene.node, newcomer].map(addressOf).join(' ') });
    await scene.until('revoked', () => scene.archive.status().chain.lost === 1);
    await scene.until('stored', async () => (await scene.record(had?.versionHash ?? ''))?.state === 'stored');
    const answers = () => scene.archive.losses().flatMap((loss) => loss.answers.map(({ source }) => source));
    await scene.until('the other was asked for', () => answers().length === 3);
    expect(scene.archive.losses().map(({ versionHash }) => versionHash)).toEqual([other?.versionHash]);
    expect(answers()).toEqual(['store local', `node ${scene.node.url}`, `node ${newcomer.url}`]);
  });

  test('a fault is not an answer: while the node fails, nothing is lost', async () => {
    const scene = await Scene.create();
    await scene.start();
    await scene.caughtUp();
    await scene.stop();
    const [first] = scene.mine(7 * HOUR_BLOCKS, 1);
    const fault = scene.node.faults.add({
      fault: { kind: 'rpc-error', code: -32603, message: 'Internal' },
      methods: ['getnevmblobdata'],
      hash: first?.versionHash ?? '',
    });
    await scene.start();
    await scene.until('others are judged', () => scene.archive.status().chain.lost > 10 && fault.hits > 0);
    expect(scene.archive.losses().map(({ versionHash }) => versionHash)).not.toContain(first?.versionHash);
  });
});
