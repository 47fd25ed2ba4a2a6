import { expect, test } from 'vitest';
import { parseBlockHash } from '../../../src/blob/ids.ts';
import { StorageError } from '../../../src/storage/errors.ts';
import { NEVER } from '../../sample-blobs.ts';
import { MemoryBackend, refusal } from './memory-backend.ts';
import { replicationScene } from './replication-scene.ts';

const OURS = parseBlockHash('11'.repeat(32));
const OTHER = parseBlockHash('22'.repeat(32));

test('a backend that cannot say which chain it belongs to is not let in', async () => {
  const backend = new MemoryBackend('s3');
  backend.before = (operation) => {
    if (operation === 'read the marker') throw refusal('s3', 'storage/denied');
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

test('backends of different chains are refused, whoever they are', async () => {
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
  await expect.poll(() => replication.sites[0]?.isAdmitted, { timeout: 10_000 }).toBe(true);
  expect(backend.chain).toBe(OURS);
  expect(backend.asked.filter((asked) => asked !== 'bind')).toEqual([]);
});
