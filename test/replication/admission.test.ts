import { expect, test } from 'vitest';
import { parseBlockHash } from '../../src/core/blob/ids.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { Admission, raise } from '../../src/replication/admission.ts';
import { OnePlace } from '../../src/replication/one-place.ts';
import { StorageError } from '../../src/storage/errors.ts';
import { fault, good } from '../../src/storage/probe.ts';
import { NEVER } from '../sample-blobs.ts';
import { MemoryBackend, refusal } from './memory-backend.ts';
import { replicationScene } from './replication-scene.ts';

const OURS = parseBlockHash('11'.repeat(32));
const OTHER = parseBlockHash('22'.repeat(32));

test('a backend that cannot say which chain it belongs to is not let in', async () => {
  const backend = new MemoryBackend('s3');
  backend.before = (operation) => {
    if (operation === 'bind') throw refusal('s3', 'storage/denied');
  };
  const { replication, conditions } = await replicationScene({ backends: [backend] });
  expect(await replication.admit(NEVER)).toEqual(new Map([['s3', 'The s3 store refuses.']]));
  expect(replication.sites[0]?.isAdmitted).toBe(false);
  expect(conditions.all()).toMatchObject([{ code: 'storage/denied' }]);
  backend.before = () => {};
  expect(await replication.admit(NEVER)).toEqual(new Map());
  expect(replication.sites[0]?.isAdmitted).toBe(true);
});

test('a folder that is bound to no chain binds no backend', async () => {
  const [bound, unbound] = [new MemoryBackend('bound'), new MemoryBackend('unbound')];
  bound.chain = OURS;
  const { replication } = await replicationScene({ backends: [bound, unbound] });
  expect(await replication.admit(NEVER)).toEqual(new Map());
  expect([bound.chain, unbound.chain]).toEqual([OURS, null]);
});

test('all backends are refused when they belong to different chains', async () => {
  const [ours, other] = [new MemoryBackend('ours'), new MemoryBackend('other')];
  ours.chain = OURS;
  other.chain = OTHER;
  const { replication } = await replicationScene({ backends: [ours, other] });
  const refused = await replication.admit(NEVER).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(StorageError);
  expect(refused).toMatchObject({ code: 'storage/other-chain' });
  expect(replication.sites.map(({ isAdmitted }) => isAdmitted)).toEqual([false, false]);
});

test('the daemon asks again until it can bind the backend, and never uses it before', async () => {
  const backend = new MemoryBackend('s3');
  let tries = 0;
  backend.before = (operation) => {
    if (operation !== 'bind') return;
    tries += 1;
    if (tries < 2) throw refusal('s3');
  };
  const { replication, start } = await replicationScene({ backends: [backend], chain: OURS });
  start();
  await expect.poll(() => replication.sites[0]?.isAdmitted).toBe(true);
  expect(backend.chain).toBe(OURS);
  expect(backend.asked.filter((asked) => asked !== 'bind')).toEqual([]);
});

test('a backend in use tells how much is free once it is let in, and at each look; silence is no old figure', async () => {
  const [kubo, s3] = [new MemoryBackend('ipfs'), new MemoryBackend('s3')];
  kubo.room = async () => 5_000;
  const { replication, start } = await replicationScene({ backends: [kubo, s3], chain: OURS });
  const told = () => replication.status().map(({ id, freeBytes }) => [id, freeBytes]);
  expect(told()).toContainEqual(['ipfs', null]);
  start();
  await expect.poll(told).toContainEqual(['ipfs', 5_000]);
  await expect.poll(() => replication.sites.every(({ isAdmitted }) => isAdmitted)).toBe(true);

  kubo.room = async () => 4_000;
  await replication.lookAtRoom(NEVER);
  expect(told()).toEqual([
    ['ipfs', 4_000],
    ['s3', null],
  ]);

  kubo.room = () => Promise.reject(refusal('ipfs'));
  await replication.lookAtRoom(NEVER);
  expect(told()).toContainEqual(['ipfs', null]);

  kubo.room = async () => 3_000;
  await replication.lookAtRoom(NEVER);
  expect(told()).toContainEqual(['ipfs', 3_000]);
  // The backend was found to be the place of another backend.
  for (const site of replication.sites) site.isAdmitted = false;
  await replication.lookAtRoom(NEVER);
  expect(told()).toContainEqual(['ipfs', null]);
});

test('a fault of a usable backend stays reported while requests succeed there, until it is repaired', async () => {
  const backend = new MemoryBackend('s3');
  backend.findings = [good('reachable', 'It answers.'), fault('missing-key', 'It says 403.', 'Allow s3:ListBucket.')];
  const { replication, conditions, catalog } = await replicationScene({ backends: [backend], chain: OURS });
  const [site] = replication.sites;
  if (site === undefined) throw new Error('There is no backend.');
  const log = createLogger('silent', { write: () => {} });
  const places = new OnePlace([site], catalog, conditions);
  const modules = { places, conditions, log, chain: async () => OURS, probeAgainMs: 5 };
  const running = new Admission(site, modules).run(NEVER);
  await expect.poll(() => site.isAdmitted).toBe(true);
  raise(conditions, 's3', refusal('s3'));
  // A replicator does the same after each copy that came there.
  conditions.set('backend:s3', null);
  expect(conditions.all()).toMatchObject([{ code: 'backend/missing-key', message: 'It says 403.' }]);
  backend.findings = [good('reachable', 'It answers.')];
  await running;
  expect(conditions.all()).toEqual([]);
});
