import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { DevnodeOptions } from '../../src/devnode/index.ts';
import { Scene, type SceneBlob } from './archive-on-devnode.ts';

const LEARN = { HOLDFAST_SENDERS: 'learn' };
const Spending = z.object({ result: z.object({ vin: z.array(z.object({ prevout: z.unknown() })) }) });
const Prevout = z.object({ scriptPubKey: z.object({ hex: z.string() }) });
const Window = z.object({
  blocks: z.array(
    z.object({ blobs: z.array(z.object({ versionHash: z.string(), senders: z.array(z.string()).optional() })) }),
  ),
});

/** The senders of a mined blob as the node tells them. */
async function sendersAt(scene: Scene, { txid }: SceneBlob): Promise<string[]> {
  const { url, username, password } = scene.node;
  const blockhash = scene.node.chain.tree.find(txid)?.block.hash;
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${username}:${password}`)}` },
    body: JSON.stringify({ id: 1, method: 'getrawtransaction', params: [txid, 2, blockhash] }),
  });
  const { result } = Spending.parse(await answer.json());
  return result.vin.map(({ prevout }) => Prevout.parse(prevout).scriptPubKey.hex);
}

async function sendersHere(scene: Scene, { versionHash }: SceneBlob): Promise<string[] | undefined> {
  const { blocks } = Window.parse(await (await fetch(`${scene.url}/v1/window`)).json());
  return blocks.flatMap(({ blobs }) => blobs).find((blob) => blob.versionHash === versionHash)?.senders;
}

/** Requests for senders that went over the wire. */
async function requestsFor(scene: Scene): Promise<number> {
  const metrics = await (await fetch(`${scene.url}/metrics`)).text();
  const counts = metrics.matchAll(
    /^holdfast_node_call_duration_seconds_count\{.*method="getrawtransaction".*\} (\d+)$/gm,
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

const callsFor = (scene: Scene) => scene.archive.status().node.calls['sender'];

test('learns who sent each blob with one call for a transaction at most, and keeps it over a restart', async () => {
  const scene = await (await Scene.create({ env: LEARN })).start();
  const submitted = [scene.submit(), scene.submit()];
  scene.mine(1);
  // The wallet now spends the change of its first blobs: another script.
  submitted.push(scene.submit());
  scene.mine(1);
  await scene.caughtUp();
  const expected = await Promise.all(submitted.map((blob) => sendersAt(scene, blob)));
  const here = () => Promise.all(submitted.map((blob) => sendersHere(scene, blob)));
  expect(await here()).toEqual(expected);
  expect((await scene.record(submitted[0]?.versionHash ?? ''))?.occurrences).toMatchObject([{ senders: expected[0] }]);
  expect(new Set(expected.flat()).size).toBeGreaterThan(1);
  expect(callsFor(scene)).toBe(submitted.length);
  // All those of a block come in one request.
  expect(await requestsFor(scene)).toBe(2);
  await scene.stop();
  await scene.start();
  await scene.caughtUp();
  expect(await here()).toEqual(expected);
  expect(callsFor(scene)).toBe(0);
});

test('a chain of change within one block is followed in the block itself, without a call', async () => {
  const scene = await (await Scene.create({ node: { initialBlocks: 101 }, env: LEARN })).start();
  // The wallet has no more than three ripe coins: the later blobs spend change that waits beside them.
  const submitted = [scene.submit(), scene.submit(), scene.submit(), scene.submit(), scene.submit()];
  scene.mine(1);
  await scene.caughtUp();
  const expected = await Promise.all(submitted.map((blob) => sendersAt(scene, blob)));
  expect(await Promise.all(submitted.map((blob) => sendersHere(scene, blob)))).toEqual(expected);
  expect(callsFor(scene)).toBe(3);
});

test('asks for no sender without the setting', async () => {
  const scene = await (await Scene.create()).start();
  const blob = scene.submit();
  scene.mine(1);
  await scene.caughtUp();
  expect([callsFor(scene), await sendersHere(scene, blob)]).toEqual([0, undefined]);
});

test('a node without undo data leaves senders unknown, which a condition tells, and everything else goes on', async () => {
  const scene = await (await Scene.create({ node: { undoData: false }, env: LEARN })).start();
  const blob = scene.submit();
  scene.mine(1);
  await scene.caughtUp();
  expect(await sendersHere(scene, blob)).toBeUndefined();
  expect(scene.conditions()).toContain('chain/senders-unknown');
  expect(await scene.record(blob.versionHash)).toMatchObject({ state: 'stored' });
});

test('a blob that another branch has is asked for once more, by its new block', async () => {
  const scene = await (await Scene.create({ env: LEARN })).start();
  const blob = scene.submit();
  scene.mine(2);
  await scene.caughtUp();
  const before = await sendersHere(scene, blob);
  scene.node.reorganise(2);
  scene.mine(1);
  await scene.caughtUp();
  expect(await sendersHere(scene, blob)).toEqual(before);
  expect(callsFor(scene)).toBe(2);
});

describe('a rule by sender', () => {
  /** Archives the blobs of the wallet's coinbases, and none that spends its change. */
  async function sceneByRule(node: DevnodeOptions = {}) {
    const scene = await Scene.create({ node, env: { HOLDFAST_FINALITY: 'depth:1' } });
    return await scene.start({ HOLDFAST_ARCHIVE_SENDERS: payoutOf(scene) });
  }
  const payoutOf = (scene: Scene) => Buffer.from(scene.node.chain.wallet.payoutScript).toString('hex');
  const notArchived = (scene: Scene) => scene.archive.status().archiveRule.notArchived;
  const stateOf = async (scene: Scene, { versionHash }: SceneBlob) => (await scene.record(versionHash))?.state;

  test('archives the blobs of its sender alone; the others are left out, and never asked for', async () => {
    const scene = await sceneByRule();
    const ours = scene.submit(5_000);
    scene.mine(1);
    await scene.caughtUp();
    // The wallet spends its confirmed change before anything else.
    const theirs = scene.submit(5_000);
    await scene.until('listed', () => scene.archive.status().content.seen === 1);
    scene.mine(1);
    await scene.caughtUp();
    expect([await stateOf(scene, ours), await stateOf(scene, theirs)]).toEqual(['stored', 'not-archived-by-rule']);
    expect(scene.archive.status().node.calls['blobsAsked']).toBe(1);
    scene.mine(160);
    await scene.caughtUp();
    expect([notArchived(scene), scene.archive.status().chain.lost]).toEqual([1, 0]);
  });

  test('a catalog that is made again leaves out what was left out, and asks for none of it', async () => {
    const scene = await sceneByRule();
    scene.submit(5_000);
    scene.mine(1);
    const theirs = scene.submit(5_000);
    scene.mine(1);
    await scene.caughtUp();
    await scene.until('told to the data folder', () => {
      const { waiting } = scene.archive.status().chain.evidence;
      return notArchived(scene) === 1 && Object.values(waiting).every((count) => count === 0);
    });
    const env = { HOLDFAST_ARCHIVE_SENDERS: payoutOf(scene) };
    await scene.stop();
    for (const end of ['', '-wal', '-shm']) await rm(join(scene.dataDir, `catalog.sqlite${end}`), { force: true });
    await scene.start(env);
    await scene.until('left out', () => notArchived(scene) === 1);
    await scene.caughtUp();
    expect([await stateOf(scene, theirs), notArchived(scene)]).toEqual(['not-archived-by-rule', 1]);
    expect([scene.archive.status().chain.lost, scene.archive.status().node.calls['blobsAsked']]).toEqual([0, 0]);
  });

  test('a reorganisation leaves out what it left out, and archives what it archived', async () => {
    const scene = await sceneByRule();
    scene.submit(5_000);
    scene.mine(1);
    const theirs = scene.submit(5_000);
    scene.mine(1);
    await scene.caughtUp();
    scene.node.reorganise(1);
    scene.mine(1);
    await scene.caughtUp();
    expect([await stateOf(scene, theirs), notArchived(scene)]).toEqual(['not-archived-by-rule', 1]);
  });

  test('a node that does not tell senders has every blob archived, and the operator told', async () => {
    const scene = await sceneByRule({ undoData: false });
    const blobs = [scene.submit(5_000)];
    scene.mine(1);
    blobs.push(scene.submit(5_000));
    scene.mine(1);
    await scene.until('stored', () => scene.archive.status().content.stored === 2);
    expect([notArchived(scene), scene.conditions().includes('chain/senders-unknown')]).toEqual([0, true]);
  });
});
