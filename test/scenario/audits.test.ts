import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { cli } from '../cli/cli-in-process.ts';
import { addressOf, Scene } from './archive-on-devnode.ts';

async function archive() {
  const scene = await Scene.create({ env: { HOLDFAST_START_HEIGHT: '0', HOLDFAST_FINALITY: 'depth:1' } });
  await scene.start();
  const [first] = scene.mine(4, 3);
  await scene.caughtUp();
  await scene.finalUpTo(scene.node.chain.tip.height);
  const attested = await cli(['attest', '--json'], { HOLDFAST_DATA_DIR: scene.dataDir });
  const { statement } = JSON.parse(attested.stdout) as { statement: { key: string } };
  // Blocks without a blob before them would make it a matter of luck whether two draws find two occurrences.
  return { scene, key: statement.key, dense: ['--from', String(first?.height)] };
}

/** The audit of a person with a node, and nothing else of the archive. */
const audit = (scene: Scene, url: string, ...words: string[]) =>
  cli(['audit', url, ...words], { HOLDFAST_NODE_URL: addressOf(scene.node) });

/** An archive that answers as another one does, but for one path. */
async function before(honest: Scene, prefix: string, status: number, body: unknown): Promise<string> {
  const server = createServer(async (request, response) => {
    if (request.url?.startsWith(prefix)) {
      return response.writeHead(status, { 'content-type': 'application/problem+json' }).end(JSON.stringify(body));
    }
    const reply = await fetch(`${honest.url}${request.url}`);
    response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? '' });
    return response.end(Buffer.from(await reply.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('an archive that holds everything is found to, with the bound that follows, by anybody with a node', async () => {
  const { scene, key } = await archive();
  const { code, stdout, stderr } = await audit(scene, scene.url, '--samples', '40', '--key', key, '--json');
  expect([code, stderr]).toEqual([0, '']);
  const found = JSON.parse(stdout) as { heldAtLeast: number; steps: { ok: boolean }[] };
  expect(found).toMatchObject({ samples: 40, outcomes: { good: 40 }, failures: [], confidence: 0.99 });
  expect(found.heldAtLeast).toBeCloseTo(0.01 ** (1 / 40), 12);
  expect(found.steps.map(({ ok }) => ok)).toEqual([true, true, true]);
  const shown = await audit(scene, scene.url, '--samples', '40');
  expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('With 99 % confidence at least 89.12 %') });
});

test('an audit of blobs that the archive has not got, or states of another chain, or under another key, ends with 3', async () => {
  const { scene } = await archive();
  const [{ versionHash = '' } = {}] = scene.blobs;
  const without = await before(scene, `/v1/blobs/${versionHash}`, 404, { code: 'blob/absent', detail: 'no' });
  const found = await audit(scene, without, '--samples', '200', '--json');
  const { outcomes, failures } = JSON.parse(found.stdout);
  expect([found.code, outcomes.good + outcomes.absent]).toEqual([3, 200]);
  expect(new Set(failures.map((one: { versionHash: string }) => one.versionHash))).toEqual(new Set([versionHash]));
  expect(await audit(scene, scene.url, '--key', 'ab'.repeat(32), '--samples', '1')).toMatchObject({ code: 3 });
  const elsewhere = await Scene.create({ node: { seed: 'another chain' } });
  elsewhere.mine(9, 1);
  const other = await audit(elsewhere, scene.url, '--samples', '1');
  expect(other).toMatchObject({ code: 3, stdout: expect.stringContaining('WRONG   Its chain is') });
});

test('a blob that a rule of the archive leaves out is neither missing nor held', async () => {
  const { scene, dense } = await archive();
  const ruled = await before(scene, '/v1/blobs', 421, { code: 'blob/not-archived-by-rule', detail: 'too large' });
  const found = await audit(scene, ruled, ...dense, '--samples', '2', '--json');
  expect(found.code).toBe(0);
  const outcomes = { good: 0, absent: 0, 'not-archived-by-rule': 2, 'no-answer': 0 };
  expect(JSON.parse(found.stdout)).toMatchObject({ samples: 2, outcomes, heldAtLeast: 0 });
  const shown = await audit(scene, ruled, ...dense, '--samples', '2');
  expect(shown.stdout).toContain('0 missing, 0 wrong bytes, 0 without proof, 0 withheld, 2 not archived by rule');
});

test('an unanswered blob is not missing, and an archive that stated nothing takes a range', async () => {
  const { scene, dense } = await archive();
  const busy = await before(scene, '/v1/blobs', 503, { code: 'blob/store-fault', detail: 'later' });
  const found = await audit(scene, busy, ...dense, '--samples', '2', '--json');
  expect(found).toMatchObject({ code: 1, stdout: expect.stringContaining('"no-answer": 2') });
  const silent = await before(scene, '/v1/attestation', 404, { code: 'attestation/absent', detail: 'none' });
  expect(await audit(scene, silent)).toMatchObject({ code: 2, stderr: expect.stringContaining('has stated nothing') });
  const to = String(scene.node.chain.tip.height);
  expect(await audit(scene, silent, ...dense, '--to', to, '--samples', '3')).toMatchObject({ code: 0 });
});
