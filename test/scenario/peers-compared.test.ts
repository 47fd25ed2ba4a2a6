import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import { ArchiverKey } from '../../src/storage/local/archiver-key.ts';
import { LocalStore } from '../../src/storage/local/local-store.ts';
import { checkAttestation, equivocationOf, parseAttestation } from '../../src/verify/index.ts';
import { cli } from '../cli/cli-in-process.ts';
import { LyingServer } from '../e2e/backends/lying-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { HOUR_BLOCKS, Scene, type SceneBlob } from './archive-on-devnode.ts';
import { MovedTime } from './moved-time.ts';

const NEVER = new AbortController().signal;
// Longer than a scene itself waits, so that the scene says what did not come.
vi.setConfig({ testTimeout: 600_000 });
/** The data folder and a bucket. */
const BACKENDS = 2;
const NEVER_BY_ITSELF = { HOLDFAST_PEER_SCHEDULE: '0 0 1 1 *' };

async function wipe({ dataDir }: Scene, blobs: readonly SceneBlob[]): Promise<void> {
  const store = await LocalStore.open(dataDir);
  for (const { hashType, versionHash } of blobs) {
    await store.delete({ hashType, versionHash: parseVersionHash(versionHash) }, NEVER);
  }
  await store.close();
}

/** Two archives of one chain, whose node has pruned every blob. */
async function twoArchives(
  blobs: number,
  backends: readonly [Record<string, string>, Record<string, string>] = [{}, {}],
) {
  const env = { HOLDFAST_START_HEIGHT: '0', HOLDFAST_FINALITY: 'depth:1', ...NEVER_BY_ITSELF };
  const one = await Scene.create({ env: { ...env, ...backends[0] } });
  const other = await Scene.create({ on: one.node, env: { ...env, ...backends[1] } });
  await Promise.all([one.start(), other.start()]);
  for (let count = 0; count < blobs; count += 1) one.submit(300 + count);
  one.mine(2);
  await Promise.all([one, other].map((scene) => scene.caughtUp()));
  one.mine(7 * HOUR_BLOCKS);
  await Promise.all([one, other].map((scene) => scene.caughtUp()));
  await Promise.all([one, other].map((scene) => scene.finalUpTo(one.node.chain.tip.height)));
  return { one, other };
}

const MINUTELY = {
  HOLDFAST_SCRUB_SCHEDULE: '* * * * *',
  HOLDFAST_SCRUB_DAYS: '1',
  HOLDFAST_PEER_SCHEDULE: '* * * * *',
};

/** Waits for what the schedules bring about: a minute goes by at each look. */
function inTime(scene: Scene, time: MovedTime, what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  return scene.until(what, () => {
    time.minute();
    return check();
  });
}

const isEven = (_: SceneBlob, index: number) => index % 2 === 0;
const isOdd = (_: SceneBlob, index: number) => index % 2 === 1;

const withBucket = ({ environment }: LyingServer) => ({
  ...environment,
  HOLDFAST_LOCAL_MODE: 'keep',
  HOLDFAST_REPLICAS_REQUIRED: String(BACKENDS),
});

/** The object in the bucket under the name of the blob. */
const inBucket = ({ objects }: LyingServer, { versionHash }: SceneBlob) =>
  [...objects].find(([key]) => key.startsWith('blobs/') && key.endsWith(versionHash))?.[1];

/** Every blob is stored, with a good copy in the data folder and in the bucket. */
async function isWhole(scene: Scene, bucket: LyingServer): Promise<boolean> {
  const records = await Promise.all(scene.blobs.map(({ versionHash }) => scene.record(versionHash)));
  const isGood = records.every(
    (record) =>
      record?.state === 'stored' && record.replicas.filter(({ state }) => state === 'good').length === BACKENDS,
  );
  return isGood && scene.blobs.every((blob) => inBucket(bucket, blob)?.equals(blob.bytes));
}

test('two archives that lost every second blob each, and one of two backends, are whole again by themselves while the node is away', async () => {
  const [first, second] = [await LyingServer.start(), await LyingServer.start()];
  const { one, other } = await twoArchives(8, [withBucket(first), withBucket(second)]);
  const { blobs } = one;
  other.blobs.push(...blobs);
  await one.until('whole', () => isWhole(one, first));
  await other.until('whole', () => isWhole(other, second));
  await Promise.all([one.stop(), other.stop(), one.node.close()]);
  // The first keeps the odd ones, in its folder alone; the second keeps the even ones, in its bucket alone.
  first.objects.clear();
  await wipe(one, blobs.filter(isEven));
  await wipe(other, blobs);
  for (const key of [...second.objects.keys()])
    if (blobs.filter(isOdd).some(({ versionHash }) => key.startsWith('blobs/') && key.endsWith(versionHash)))
      second.objects.delete(key);
  const time = new MovedTime();
  await one.start(MINUTELY, { scheduleTime: time });
  await other.start({ ...MINUTELY, HOLDFAST_PEERS: one.url }, { scheduleTime: time });
  await inTime(other, time, 'the second is whole', () => isWhole(other, second));
  // The first learns only now where the second listens.
  await one.stop();
  await one.start({ ...MINUTELY, HOLDFAST_PEERS: other.url }, { scheduleTime: time });
  await inTime(one, time, 'the first is whole', () => isWhole(one, first));
  expect([await givenTo(one, blobs.filter(isEven)), await givenTo(one, blobs.filter(isOdd))]).toEqual([4, 0]);
  expect([await givenTo(other, blobs.filter(isEven)), await givenTo(other, blobs.filter(isOdd))]).toEqual([0, 4]);
  for (const scene of [one, other]) {
    for (const { versionHash, bytes } of blobs) {
      const reply = await fetch(`${scene.url}/v1/blobs/${versionHash}`);
      expect(new Uint8Array(await reply.arrayBuffer())).toEqual(new Uint8Array(bytes));
    }
    expect(scene.archive.status()).toMatchObject({ node: { reachable: false }, chain: { lost: 0 } });
    expect(scene.archive.losses()).toEqual([]);
  }
});

/** Counts the blobs of them that came from a peer. */
async function givenTo(scene: Scene, blobs: readonly SceneBlob[]): Promise<number> {
  const records = await Promise.all(blobs.map(({ versionHash }) => scene.record(versionHash)));
  return records.filter((one) => one?.state === 'stored' && one.givenBy !== null).length;
}

test('a lost blob that turns up at a peer is fetched, and nothing else is', async () => {
  const { one: elder, other } = await twoArchives(5);
  const [turned] = elder.blobs;
  if (turned === undefined) throw new Error('Blobs were submitted.');
  // The bytes come to neither archive before they are lost to both.
  await Promise.all([elder.stop(), other.stop()]);
  await wipe(elder, [turned]);
  await wipe(other, [turned]);
  const scrubs = { HOLDFAST_SCRUB_SCHEDULE: '* * * * *', HOLDFAST_SCRUB_DAYS: '1' };
  const time = new MovedTime();
  await elder.start(scrubs, { scheduleTime: time });
  await inTime(elder, time, 'lost there', () => elder.archive.status().chain.lost === 1);
  await other.start({ ...scrubs, HOLDFAST_PEERS: elder.url }, { scheduleTime: time });
  await inTime(other, time, 'lost here', () => other.archive.status().chain.lost === 1);
  await other.archive.comparer.run(NEVER);
  expect(other.archive.status().peers[0]?.compared).toMatchObject({ onlyThere: 0, onlyHere: 0, contradiction: null });

  const folder = temporaryFolder();
  writeFileSync(join(folder, turned.versionHash), turned.bytes);
  const words = ['backfill', '--from-height', '0', '--source', `dir=${folder}`];
  expect(await cli(words, { HOLDFAST_DATA_DIR: elder.dataDir })).toMatchObject({ code: 0 });
  expect(elder.archive.status().chain.lost).toBe(0);
  // An archive's answers of its inventory are up to ten seconds old.
  await other.until('found again', async () => {
    await other.archive.comparer.run(NEVER);
    return other.archive.status().chain.lost === 0;
  });
  expect(other.archive.status().peers[0]?.compared).toMatchObject({ onlyThere: 1, fetched: 1, notGiven: 0 });
  expect(await givenTo(other, elder.blobs)).toBe(1);
  expect(await other.record(turned.versionHash)).toMatchObject({ state: 'stored', givenBy: `peer ${elder.url}` });
});

/** The lie instead of the honest archive's answer; null: the honest answer. */
type Lie = (path: string, honest: unknown) => { readonly status: number; readonly body: unknown } | null;

/** An archive that says what an honest one says, but for its lie. */
async function liarBefore(honest: Scene, lie: Lie): Promise<string> {
  const server = createServer(async (request, response) => {
    // An archive that stops meanwhile cuts the connection.
    const reply = await fetch(`${honest.url}${request.url}`).catch(() => null);
    if (reply === null) return response.destroy();
    const type = reply.headers.get('content-type') ?? '';
    const body = Buffer.from(await reply.arrayBuffer());
    const told = lie(request.url ?? '', type.startsWith('application/json') ? JSON.parse(body.toString()) : null);
    if (told === null) return response.writeHead(reply.status, { 'content-type': type }).end(body);
    if (told.body instanceof Uint8Array)
      return response.writeHead(told.status, { 'content-type': 'application/octet-stream' }).end(told.body);
    const toldType = told.status === 200 ? 'application/json' : 'application/problem+json';
    return response.writeHead(told.status, { 'content-type': toldType }).end(JSON.stringify(told.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

type Inventory = { counts: Record<string, number>; held: string; digest: string };

const makesOccurrencesUp: Lie = (path, honest) => {
  if (!path.startsWith('/v1/inventory') || honest === null) return null;
  const { counts, ...rest } = honest as Inventory;
  const total = (counts['stored'] ?? 0) + 1;
  const lie = { counts: { ...counts, stored: total }, held: `${total}s`, digest: 'ab'.repeat(32) };
  return { status: 200, body: { ...rest, ...lie } };
};

test('one of three archives lies in its inventory, in bytes and about absence: the honest two stay whole, and both say who lied', async () => {
  const { one, other } = await twoArchives(6);
  const { blobs } = one;
  other.blobs.push(...blobs);
  await Promise.all([one.stop(), other.stop()]);
  await wipe(one, blobs.slice(0, 2));
  await wipe(other, blobs.slice(2, 4));
  // Each restart has another port; a door has always the same. Without an inventory nothing is compared and audited.
  let isOpen = false;
  const door: Lie = (path) =>
    isOpen || !path.startsWith('/v1/inventory') ? null : { status: 503, body: { code: 'chain/unavailable' } };
  const [doorOfOne, doorOfOther] = [await liarBefore(one, door), await liarBefore(other, door)];
  const liar = await liarBefore(one, (path, honest) => {
    if (!path.startsWith('/v1/blobs/')) return makesOccurrencesUp(path, honest);
    const at = blobs.findIndex(({ versionHash }) => path.includes(versionHash));
    return at % 2 === 0 ? { status: 404, body: { code: 'blob/absent' } } : { status: 200, body: Buffer.from('others') };
  });
  const rarely = { HOLDFAST_SCRUB_DAYS: '1', ...NEVER_BY_ITSELF };
  await one.start({ ...rarely, HOLDFAST_PEERS: `${liar} ${doorOfOther}` });
  await other.start({ ...rarely, HOLDFAST_PEERS: `${liar} ${doorOfOne}` });
  // A peer that gave wrong bytes is asked for no inventory for a minute: its inventory comes first.
  for (const scene of [one, other])
    await scene.until('its inventory is known to be a lie', async () => {
      await scene.archive.comparer.run(NEVER);
      return scene.conditions().includes('peer/contradicts-chain');
    });
  // Both are whole before they compare: a comparison would fetch what an archive lacks from the honest one, and the liar
  // would not be asked for it.
  for (const scene of [one, other]) await scene.archive.routine.scrub.slice(NEVER);
  for (const [scene, wiped] of [[one, blobs.slice(0, 2)] as const, [other, blobs.slice(2, 4)] as const])
    await scene.until('whole', async () => (await givenTo(scene, wiped)) === 2);
  isOpen = true;
  for (const scene of [one, other]) await scene.archive.comparer.run(NEVER);
  for (const [scene, wiped] of [[one, blobs.slice(0, 2)] as const, [other, blobs.slice(2, 4)] as const]) {
    const { conditions, content, peers, chain } = scene.archive.status();
    expect([content.stored, chain.lost, scene.archive.losses()]).toEqual([6, 0, []]);
    const told = conditions.filter(({ code }) => code.startsWith('peer/'));
    expect(told.map(({ code }) => code).toSorted()).toEqual(['peer/contradicts-chain', 'peer/wrong-bytes']);
    expect(told.filter(({ message }) => !message.includes(liar))).toEqual([]);
    expect(peers).toMatchObject([
      { gave: 0, compared: { fetched: 0, contradiction: expect.any(String) } },
      { state: 'good', absent: 0, wrongBytes: 0, compared: { contradiction: null } },
    ]);
    expect(Math.min(peers[0]?.absent ?? 0, peers[0]?.wrongBytes ?? 0)).toBeGreaterThan(0);
    for (const { versionHash, bytes } of wiped) {
      const reply = await fetch(`${scene.url}/v1/blobs/${versionHash}`);
      expect(new Uint8Array(await reply.arrayBuffer())).toEqual(new Uint8Array(bytes));
    }
  }
});

test.each<[string, string, Lie]>([
  ['makes occurrences up', 'peer/contradicts-chain', makesOccurrencesUp],
  [
    'says that it has got nothing',
    'none',
    (path, honest) => {
      if (path.startsWith('/v1/blobs')) return { status: 404, body: { code: 'blob/absent' } };
      if (!path.startsWith('/v1/inventory') || honest === null) return null;
      const { counts, ...rest } = honest as Inventory;
      const missing = counts['stored'] ?? 0;
      const lie = { counts: { ...counts, stored: 0, missing }, held: `${missing}m`, digest: 'ab'.repeat(32) };
      return { status: 200, body: { ...rest, ...lie } };
    },
  ],
  [
    'answers no inventory',
    'peer/not-compared',
    (path) => (path.startsWith('/v1/inventory') ? { status: 200, body: { format: 1, held: 7 } } : null),
  ],
])(
  'one of three archives that %s harms no other, and is told by name where its lie can be proven',
  async (_says, code, lie) => {
    const { one: honest, other } = await twoArchives(4);
    const [missing] = honest.blobs;
    if (missing === undefined) throw new Error('Blobs were submitted.');
    await other.stop();
    await wipe(other, [missing]);
    const liar = await liarBefore(honest, lie);
    const peers = {
      HOLDFAST_PEERS: `${liar} ${honest.url}`,
      HOLDFAST_SCRUB_SCHEDULE: '* * * * *',
      HOLDFAST_SCRUB_DAYS: '1',
    };
    const time = new MovedTime();
    await other.start(peers, { scheduleTime: time });
    await inTime(other, time, 'whole', () => {
      const { peers: asked, content } = other.archive.status();
      return asked.some(({ gave }) => gave === 1) && content.stored === 4;
    });
    expect(other.archive.losses()).toEqual([]);
    await other.archive.comparer.run(NEVER);
    const { conditions } = other.archive.status();
    const told = conditions.filter((one) => one.code.startsWith('peer/'));
    // Absence alone cannot be proven a lie; it decides nothing while another peer has the bytes.
    const expected = code === 'none' ? [] : [{ code, message: expect.stringContaining(liar) }];
    expect(told).toMatchObject(expected);
    // An archive's answers of its own inventory are up to ten seconds old as well.
    if (code === 'none')
      await other.until('all four are only here', async () => {
        await other.archive.comparer.run(NEVER);
        const compared = other.archive.status().peers[0]?.compared;
        return compared?.onlyHere === 4 && compared.onlyThere === 0;
      });
    const reply = await fetch(`${other.url}/v1/blobs/${missing.versionHash}`);
    expect(new Uint8Array(await reply.arrayBuffer())).toEqual(new Uint8Array(missing.bytes));
    // The honest one gives and proves what is drawn from the chain.
    const proven = () => other.archive.status().peers[1]?.audited?.outcomes;
    await other.until('audited', async () => {
      await other.archive.comparer.run(NEVER);
      return (proven()?.good ?? 0) >= 4;
    });
    expect(proven()).toMatchObject({ absent: 0, withheld: 0, 'wrong-bytes': 0, 'no-proof': 0, 'no-answer': 0 });
  },
);

test('an archiver that tells two peers two things is told by the peer that saw both, with evidence that convinces anybody', async () => {
  const { one, other } = await twoArchives(2);
  const signer = await ArchiverKey.open(temporaryFolder());
  const { inventory } = one.archive;
  const lookup = await inventory.inventory(null, null, NEVER);
  if (lookup.kind !== 'found') throw new Error('It has one.');
  const { chain, from, to, blockHash, digest: root, counts } = lookup.inventory;
  const attested = (stored: number) => {
    const at = '2026-11-01T02:11:00.000Z';
    const who = { kind: 'holdfast/attestation', format: 1, archiver: 'ab'.repeat(8), key: signer.publicKey } as const;
    const what = { number: 7, chain, from, to, blockHash, root, counts: { ...counts, stored }, unclear: 0, at };
    return { ...signer.sign({ ...who, ...what }), keys: signer.keys };
  };
  const saying =
    (stored: number): Lie =>
    (path) =>
      path === '/v1/attestation' ? { status: 200, body: attested(stored) } : null;
  const [here, there] = [await liarBefore(one, saying(2)), await liarBefore(one, saying(1))];
  await other.stop();
  await other.start({ HOLDFAST_PEERS: `${here} ${there}` });
  await other.finalUpTo(one.node.chain.tip.height);
  await other.archive.comparer.run(NEVER);
  const equivocations = other.archive.status().conditions.filter(({ code }) => code === 'peer/equivocation');
  expect(equivocations).toMatchObject([{ message: expect.stringContaining(signer.publicKey) }]);
  const { archiverId } = other.archive.status().chain.evidence;
  const file = join(other.dataDir, 'audit', archiverId, 'equivocations', `${signer.publicKey}.json`);
  await other.until('the evidence lies in the data folder', () => existsSync(file));
  const kept = JSON.parse(readFileSync(file, 'utf8'));
  const [first, second] = [kept.one, kept.other].map((given) => parseAttestation(JSON.stringify(given)));
  if (first === undefined || second === undefined) throw new Error('There are two.');
  for (const statement of [first, second])
    expect((await checkAttestation(statement, signer.publicKey)).every(({ ok }) => ok)).toBe(true);
  expect(equivocationOf(first, second)).toMatchObject({ kind: 'same-number' });
});
