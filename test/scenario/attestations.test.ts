import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkAttestation, equivocationOf, parseAttestation } from '../../src/verify/index.ts';
import { cli } from '../cli/cli-in-process.ts';
import { Scene } from './archive-on-devnode.ts';

async function withBlobs() {
  const scene = await Scene.create({ env: { HOLDFAST_START_HEIGHT: '0', HOLDFAST_FINALITY: 'depth:1' } });
  await scene.start();
  scene.mine(3, 2);
  await scene.caughtUp();
  await scene.finalUpTo(scene.node.chain.tip.height);
  return scene;
}

const attest = (scene: Scene, ...words: string[]) =>
  cli(['attest', '--json', ...words], { HOLDFAST_DATA_DIR: scene.dataDir });
const answered = async (scene: Scene, query = '') => await (await fetch(`${scene.url}/v1/attestation${query}`)).json();

test('an attestation on demand is signed, answered, on the backends, and verified offline', async () => {
  const scene = await withBlobs();
  expect((await fetch(`${scene.url}/v1/attestation`)).status).toBe(404);
  const { code, stdout, stderr } = await attest(scene);
  expect([code, stderr]).toEqual([0, '']);
  const { statement } = parseAttestation(stdout);
  const { height, hash } = scene.node.chain.tip;
  expect(statement).toMatchObject({
    from: 0,
    to: height,
    blockHash: hash,
    counts: { stored: 6, missing: 0 },
  });
  const inventory = (await (await fetch(`${scene.url}/v1/inventory`)).json()) as Record<string, unknown>;
  expect([statement.root, statement.chain]).toEqual([inventory['digest'], inventory['chain']]);
  expect(await answered(scene)).toEqual(JSON.parse(stdout));
  expect(await answered(scene, `?month=${statement.at.slice(0, 7)}`)).toEqual(JSON.parse(stdout));

  const folder = join(scene.dataDir, 'audit', statement.archiver, 'attestations', 'whole', statement.at.slice(0, 7));
  const file = join(folder, `${String(statement.number).padStart(10, '0')}.json`);
  await scene.until('it lies in the data folder', () => existsSync(file));
  const kept = readFileSync(file, 'utf8');
  expect(parseAttestation(kept)).toEqual(parseAttestation(stdout));
  writeFileSync(join(scene.dataDir, 'first.json'), kept);
  await scene.stop();
  const verify = (...words: string[]) => cli(['verify', 'first.json', ...words], {}, scene.dataDir);
  expect(await verify('--key', statement.key)).toMatchObject({ code: 0 });
  expect(await verify('--key', 'ab'.repeat(32))).toMatchObject({ code: 3 });
  // The statement is signed, and no key says by whom.
  expect(await verify()).toMatchObject({ code: 1, stdout: expect.stringContaining('give --key') });
  writeFileSync(join(scene.dataDir, 'second.json'), kept.replace('"stored": 6', '"stored": 7'));
  const compared = await verify('--key', statement.key, '--other', 'second.json');
  expect(compared).toMatchObject({
    code: 3,
    stdout: expect.stringContaining('The other: The statement is not signed'),
  });
});

test('a range has statements of its own, a new key is known by the old one, and a take-down is no contradiction', async () => {
  const scene = await withBlobs();
  const first = parseAttestation((await attest(scene)).stdout);
  const ranged = parseAttestation((await attest(scene, '--from', '1', '--to', '2')).stdout);
  expect(ranged.statement).toMatchObject({ from: 1, to: 2 });
  expect(ranged.statement.number).toBeGreaterThan(first.statement.number);
  expect(await answered(scene, '?from=1&to=2')).toEqual(ranged);
  expect(await answered(scene)).toEqual(first);
  const [{ versionHash = '' } = {}] = scene.blobs;
  const withheld = await cli(['withhold', versionHash, '--reason', 'order'], { HOLDFAST_DATA_DIR: scene.dataDir });
  expect(withheld.code).toBe(0);
  const last = parseAttestation((await attest(scene, '--new-key')).stdout);
  expect(last.statement).toMatchObject({ counts: { stored: 5, withheld: 1 } });
  expect(last.statement.number).toBeGreaterThan(ranged.statement.number);
  expect(last.statement.key).not.toBe(first.statement.key);
  expect((await checkAttestation(last, first.statement.key)).every(({ ok }) => ok)).toBe(true);
  expect(equivocationOf(first, last)).toBeNull();
});

test('a month has one statement by itself, and none is signed of what cannot be told', async () => {
  const scene = await Scene.create({ env: { HOLDFAST_START_HEIGHT: '0', HOLDFAST_FINALITY: 'depth:1' } });
  await scene.start();
  const NEVER = new AbortController().signal;
  const refused = await attest(scene, '--to', '100000');
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('Nothing is attested')]);
  scene.mine(2, 1);
  await scene.caughtUp();
  await scene.finalUpTo(scene.node.chain.tip.height);
  await scene.archive.attestor.attestMonthly(NEVER);
  const first = await answered(scene);
  await scene.archive.attestor.attestMonthly(NEVER);
  expect(await answered(scene)).toEqual(first);
  expect(first).toMatchObject({ statement: { counts: { stored: 2 } } });
});
