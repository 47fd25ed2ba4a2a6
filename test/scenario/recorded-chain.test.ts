import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseOccurrenceRecord, verifyOccurrence } from '../../src/verify/index.ts';
import { blobs, blockOf, blocks, bytesOf, hexText, losing, recorded } from '../verify/recorded-chain.ts';
import { Scene } from './archive-on-devnode.ts';
import { RecordedNode, STAGES } from './recorded-node.ts';

/** The last submission was in a block that was taken back, was not mined again, and stays in the node's list. */
const lingering = blobs.at(-1)?.versionhash ?? '';

async function reach(scene: Scene, node: RecordedNode, stage: string | undefined, height: number): Promise<void> {
  node.goTo(stage ?? '');
  await scene.until(`${stage}`, () => {
    const { node: seen, chain, content } = scene.archive.status();
    return seen.height === height && chain.height === height && content.seen === 0 && content.spooled === 0;
  });
}

test('a real chain, forward and through its reorganisation: the blob of the dead block is kept, and never final', async () => {
  const [before, first, takenBack, second, again] = STAGES;
  const node = await RecordedNode.listen();
  // Blobs begin at height 111; four confirmations make final: the network that was recorded has no ChainLocks.
  const env = { HOLDFAST_NODE_URL: node.url, HOLDFAST_START_HEIGHT: '111', HOLDFAST_FINALITY: 'depth:4' };
  const scene = await Scene.create({ env });
  await scene.start();
  await reach(scene, node, before, 121);
  expect(scene.archive.status().content.stored).toBe(20);

  await reach(scene, node, first, 124);
  await scene.finalUpTo(121);
  expect(scene.archive.status()).toMatchObject({ content: { stored: 22 }, chain: { finalHeight: 121 } });
  expect(await scene.states(lingering)).toEqual(['mined']);

  node.goTo(takenBack ?? '');
  await scene.until('the node went back', () => scene.conditions().includes('chain/node-went-back'));
  expect(scene.archive.status().chain.height).toBe(124);

  await reach(scene, node, second, 125);
  expect(await scene.states(lingering)).toEqual(['unconfirmed']);
  await scene.stop();
  await scene.start();
  await reach(scene, node, again, 126);
  expect(await scene.record(lingering)).toMatchObject({ state: 'stored', occurrences: [{ state: 'unconfirmed' }] });
  await scene.finalUpTo(123);

  // Header by header the façade says what the node was recorded to say. Lower medians take in blocks that were not recorded.
  const facade = async (method: string, ...params: unknown[]) => {
    const body = JSON.stringify({ id: 1, method, params });
    return z
      .looseObject({ result: z.unknown() })
      .parse(await (await fetch(`${scene.url}/`, { method: 'POST', body })).json());
  };
  for (const { view } of blocks.filter(({ view }) => view.height >= 119 && view.height <= 126)) {
    if (losing.includes(view.hash)) continue;
    expect((await facade('getblockheader', view.hash)).result).toEqual(recorded('getblockheader', view.hash));
  }
  expect((await facade('getblockchaininfo')).result).toMatchObject({ chain: 'regtest', blocks: 126 });

  const { content, chain } = scene.archive.status();
  expect(content).toMatchObject({ stored: 22, seen: 0, failing: 0 });
  expect(chain).toMatchObject({ startHeight: 111, lost: 0, unclearTransactions: 0 });
  const audit = await scene.audit();
  expect(audit).toMatchObject({ isComplete: true, occurrences: { stored: 22 }, unexamined: [] });

  // Every record that was written proves its blob, byte for byte as the node's own proof has it.
  const final = blobs.filter(({ versionhash, txid }) => versionhash !== lingering && blockOf(txid).view.height <= 123);
  await scene.until('their records', () => recordsIn(scene.dataDir).length === final.length);
  for (const path of recordsIn(scene.dataDir)) {
    const record = parseOccurrenceRecord(readFileSync(path, 'utf8'));
    expect(losing).not.toContain(record.blockHash);
    const blob = blobs.find(({ txid }) => txid === record.txid);
    expect(blob === undefined ? null : verifyOccurrence(bytesOf(blob), record)).toMatchObject({ ok: true });
    expect(record.merkleProof).toBe(hexText.parse(recorded('gettxoutproof', [record.txid], record.blockHash)));
  }
});

function recordsIn(dataDir: string): string[] {
  const names = z.array(z.string()).parse(readdirSync(dataDir, { recursive: true }));
  return names.filter((name) => /^occurrences.*\.json$/.test(name)).map((name) => join(dataDir, name));
}
