import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { CatalogError } from '../../src/catalog/errors.ts';
import { WithheldSayings } from '../../src/reading/withhold/withheld-sayings.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';
import { keyOf, losePart, MemoryBackend, refusal } from './memory-backend.ts';
import { replicationScene } from './replication-scene.ts';

const BLOB = sampleBlob('replicated', 1_000);

async function scene(backends = [new MemoryBackend('s3')], more: object = {}) {
  const made = await replicationScene({ backends, ...more });
  await made.replication.admit(NEVER);
  return { ...made, drain: (...ids: string[]) => made.replication.drain(ids, NEVER) };
}

const stateAt = ({ catalog }: Awaited<ReturnType<typeof scene>>, backend: string) =>
  catalog
    .find(BLOB.versionHash)
    .flatMap((entry) => catalog.placementsOf(entry))
    .find((one) => one.backend === backend)?.state;

describe('a copy counts when it was read back, and only then', () => {
  test.each([
    { lie: 'keeps nothing', on: (one: MemoryBackend) => one.blobs.clear(), left: 'wanted' },
    {
      lie: 'keeps other bytes',
      on: (one: MemoryBackend) => one.blobs.set(keyOf(BLOB), new Uint8Array(1_000)),
      left: 'damaged',
    },
  ])('a backend acknowledges and $lie', async ({ on, left }) => {
    const backend = new MemoryBackend('s3');
    const made = await scene([backend]);
    await made.spool(BLOB);
    backend.before = (operation) => {
      if (operation === 'get') on(backend);
    };
    await made.drain('s3');
    expect(stateAt(made, 's3')).toBe(left);
    expect(made.catalog.totals()).toMatchObject({ stored: 0, spooled: 1 });
    expect(made.conditions.all().map(({ code }) => code)).toContain('archive/not-kept');
    backend.before = () => {};
    made.clock.wallMs += 60_000;
    await made.drain('s3');
    expect(made.catalog.totals()).toMatchObject({ stored: 1 });
    expect(made.conditions.all()).toEqual([]);
  });

  test('a copy is asked for after the put, by a question of its own', async () => {
    const backend = new MemoryBackend('s3');
    const made = await scene([backend]);
    await made.spool(BLOB);
    backend.asked.length = 0;
    await made.drain('s3');
    expect(backend.asked).toEqual([`putNew ${keyOf(BLOB)}`, `get ${keyOf(BLOB)}`]);
  });

  test('whether it is kept is asked while its bytes come, and both must be so', async () => {
    const backend = new MemoryBackend('ipfs');
    let isPinned = false;
    const asked = Promise.withResolvers<void>();
    backend.isPinned = () => isPinned;
    const made = await scene([backend]);
    backend.before = (operation) => {
      if (operation === 'is kept') asked.resolve();
      return operation === 'get' ? asked.promise : undefined;
    };
    await made.spool(BLOB);
    backend.asked.length = 0;
    await made.drain('ipfs');
    expect(backend.asked).toEqual([`putNew ${keyOf(BLOB)}`, `get ${keyOf(BLOB)}`, `is kept ${keyOf(BLOB)}`]);
    expect(stateAt(made, 'ipfs')).toBe('wanted');
    expect(made.conditions.all().map(({ code }) => code)).toContain('archive/not-kept');
    isPinned = true;
    made.clock.wallMs += 60_000;
    await made.drain('ipfs');
    expect(stateAt(made, 'ipfs')).toBe('good');
  });
});

describe('the record of what was read back', () => {
  test('is committed without the linger delay where no other copy comes', async () => {
    const made = await scene();
    await made.spool(BLOB);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    await made.drain('s3');
    expect(made.catalog.totals()).toMatchObject({ stored: 1 });
  });

  test('shares one synced commit with what is under way beside it', async () => {
    const made = await scene();
    const blobs = Array.from({ length: 12 }, (_, index) => sampleBlob(`beside ${index}`, 1_000));
    for (const blob of blobs) await made.spool(blob);
    const groups: number[] = [];
    made.activity.on('proven', (_backend, entries) => groups.push(entries.length));
    await made.drain('s3');
    expect(groups.reduce((sum, count) => sum + count, 0)).toBe(12);
    expect(groups.length).toBeLessThan(6);
  });
});

describe('an object under the name of a blob that comes for the first time', () => {
  async function foreign(bytes: Uint8Array) {
    const backend = new MemoryBackend('s3');
    backend.blobs.set(keyOf(BLOB), bytes);
    const made = await scene([backend]);
    await made.spool(BLOB);
    return { ...made, backend };
  }

  test('stays as it is when it is the blob, over a bad line as well', async () => {
    const made = await foreign(BLOB.bytes);
    let lines = 0;
    const honest = made.backend.get.bind(made.backend);
    made.backend.get = async (name, signal) => {
      const found = await honest(name, signal);
      lines += 1;
      return found === null || lines > 1 ? found : new Uint8Array(1_000);
    };
    const before = made.backend.blobs.get(keyOf(BLOB));
    await made.drain('s3');
    made.clock.wallMs += 60_000;
    await made.drain('s3');
    expect(made.backend.blobs.get(keyOf(BLOB))).toBe(before);
    expect(made.backend.setAsideNames).toEqual([]);
    expect(stateAt(made, 's3')).toBe('good');
    expect(made.conditions.all()).toEqual([]);
  });

  test('is reported, set aside and replaced in place in one run when it is other bytes', async () => {
    const made = await foreign(new Uint8Array(1_000));
    const told: boolean[] = [];
    made.backend.before = (operation) => {
      if (operation === 'set aside') told.push(made.conditions.has('damage'));
    };
    await made.drain('s3');
    expect(told).toEqual([true]);
    expect(made.backend.setAsideNames).toEqual([keyOf(BLOB)]);
    expect(made.backend.blobs.get(keyOf(BLOB))).toEqual(BLOB.bytes);
    expect(made.catalog.totals()).toMatchObject({ stored: 1 });
    expect(made.conditions.all()).toEqual([]);
  });

  test('is written again when the backend itself cannot read it', async () => {
    const made = await foreign(BLOB.bytes);
    losePart(made.backend, BLOB);
    for (let tries = 0; tries < 4; tries += 1) {
      await made.drain('s3');
      made.clock.wallMs += 60_000;
    }
    expect(made.catalog.totals()).toMatchObject({ stored: 1 });
  });

  test('is set aside and replaced at once when it is other bytes and the local store has no room', async () => {
    const backend = new MemoryBackend('s3');
    backend.blobs.set(keyOf(BLOB), new Uint8Array(1_000));
    const made = await scene([backend], { disk: async () => ({ freeBytes: 0, totalBytes: 2 ** 41 }) });
    expect(await made.spool(BLOB)).toBe('s3');
    expect(backend.setAsideNames).toEqual([keyOf(BLOB)]);
    expect(backend.blobs.get(keyOf(BLOB))).toEqual(BLOB.bytes);
  });
});

describe('a damaged copy', () => {
  async function damaged() {
    const backend = new MemoryBackend('s3');
    const made = await scene([backend]);
    await made.spool(BLOB);
    await made.drain('s3');
    backend.asked.length = 0;
    made.damage.report('s3', nameOf(BLOB));
    return { ...made, backend };
  }

  test('is read again first: a bad line harms nothing that is good', async () => {
    const made = await damaged();
    await made.drain('s3');
    expect(made.backend.asked).toEqual([`get ${keyOf(BLOB)}`]);
    expect(stateAt(made, 's3')).toBe('good');
    expect(made.conditions.has('damage')).toBe(false);
  });

  test('is set aside, and replaced in place without ever being deleted', async () => {
    const made = await damaged();
    made.backend.blobs.set(keyOf(BLOB), new Uint8Array(1_000));
    await made.drain('s3');
    expect(made.backend.setAsideNames).toEqual([keyOf(BLOB)]);
    expect(made.backend.asked.some((asked) => asked.startsWith('delete'))).toBe(false);
    expect(made.backend.blobs.get(keyOf(BLOB))).toEqual(BLOB.bytes);
    expect(stateAt(made, 's3')).toBe('good');
  });

  test('is written again when the backend has it and does not give it', async () => {
    const made = await damaged();
    losePart(made.backend, BLOB);
    await made.drain('s3');
    expect(stateAt(made, 's3')).toBe('good');
    expect(made.conditions.has('damage')).toBe(false);
  });

  test('stays as it is, and reported, without a good copy anywhere', async () => {
    const made = await damaged();
    made.backend.blobs.set(keyOf(BLOB), new Uint8Array(1_000));
    await made.store.delete(BLOB, NEVER);
    await made.drain('s3');
    expect(made.backend.blobs.get(keyOf(BLOB))).toEqual(new Uint8Array(1_000));
    expect(stateAt(made, 's3')).toBe('damaged');
    expect(made.conditions.has('damage')).toBe(true);
  });
});

test('a copy that a backend has without keeping it, and no other place has, is kept from then on', async () => {
  const backend = new MemoryBackend('ipfs');
  let isPinned = true;
  backend.isPinned = () => isPinned;
  const made = await scene([backend]);
  await made.spool(BLOB);
  await made.drain('ipfs');
  await made.store.delete(BLOB, NEVER);
  isPinned = false;
  made.damage.report('ipfs', nameOf(BLOB));
  backend.before = (operation) => {
    if (operation === 'put') isPinned = true;
  };
  await made.drain('ipfs');
  expect(stateAt(made, 'ipfs')).toBe('good');
});

test('a copy that is found damaged after it was read back, and before that is recorded, is not called good', async () => {
  const backend = new MemoryBackend('s3');
  const made = await scene([backend]);
  const slow = sampleBlob('on its way beside it', 1_000);
  await made.spool(BLOB);
  await made.spool(slow);
  const isReadBack = Promise.withResolvers<void>();
  const isLost = Promise.withResolvers<void>();
  backend.before = async (operation, name) => {
    if (operation === 'get' && name?.versionHash === BLOB.versionHash) isReadBack.resolve();
    if (operation === 'putNew' && name?.versionHash === slow.versionHash) await isLost.promise;
  };
  const drained = made.drain('s3');
  await isReadBack.promise;
  await setImmediate();
  // The proof waits for the slow copy now, to share a commit.
  expect(stateAt(made, 's3')).toBe('wanted');
  backend.blobs.clear();
  made.damage.report('s3', nameOf(BLOB));
  isLost.resolve();
  await drained;
  expect(made.catalog.totals()).toMatchObject({ stored: 2 });
  expect([...backend.blobs.keys()].sort()).toEqual([keyOf(BLOB), keyOf(slow)].sort());
});

test('a catalog that takes no record now is told as that, and the backend is not asked again meanwhile', async () => {
  const s3 = new MemoryBackend('s3');
  const made = await scene([s3]);
  await made.spool(BLOB);
  const { catalog } = made;
  const [proven, failures] = [catalog.recordProven, catalog.replicas.recordFailures];
  const full = () => {
    throw new CatalogError('catalog/full', 'The catalog could not record what is stored.', {
      retryable: true,
      hint: 'Free disk space.',
    });
  };
  catalog.recordProven = full;
  catalog.replicas.recordFailures = full;
  await made.drain('s3');
  expect(made.conditions.all()).toMatchObject([{ code: 'catalog/full' }]);
  expect(made.conditions.all()[0]?.message).not.toContain('cannot be brought to s3');
  expect(s3.asked.filter((one) => one.startsWith('putNew'))).toHaveLength(1);
  expect(stateAt(made, 's3')).toBe('wanted');
  catalog.recordProven = proven;
  catalog.replicas.recordFailures = failures;
  made.clock.steadyMs += 5_000;
  await made.drain('s3');
  expect(catalog.totals()).toMatchObject({ stored: 1 });
  expect(made.conditions.all()).toEqual([]);
});

test('a try after a pause that asked nothing is given back: a blob taken down meanwhile holds up no other', async () => {
  const s3 = new MemoryBackend('s3');
  const made = await scene([s3]);
  const [site] = made.replication.sites;
  s3.before = (operation) => {
    if (operation !== 'bind') throw refusal('s3');
  };
  const waiting = Array.from({ length: 5 }, (_, index) => sampleBlob(`waits ${index}`, 1_000));
  for (const blob of waiting) await made.spool(blob);
  await made.drain('s3');
  expect(site?.isLeftAlone).toBe(true);
  s3.before = () => {};
  const takenDown = sampleBlob('taken down on its way', 1_000);
  await made.spool(takenDown);
  made.clock.steadyMs += 60_000;
  // Between the look at the queue and the put.
  const { withheld } = made.catalog;
  const { has } = withheld;
  const order = { ...nameOf(takenDown), archiver: 'a', reason: 'told to', publicReason: null, atMs: 1, purge: false };
  withheld.has = (name) => {
    if (name.versionHash === takenDown.versionHash) {
      withheld.has = has;
      withheld.record([order], false);
    }
    return withheld.has(name);
  };
  await made.drain('s3');
  expect(s3.asked).not.toContain(`putNew ${keyOf(takenDown)}`);
  expect(site?.breaker.admits(made.clock.steadyMs)).toBe(true);
});

test('a blob that is purged while it is put does not stay at the backend', async () => {
  const s3 = new MemoryBackend('s3');
  const made = await scene([s3]);
  await made.spool(BLOB);
  const { hashType, versionHash } = BLOB;
  const entry = {
    hashType,
    versionHash,
    archiver: 'ours',
    publicReason: null,
    reason: 'an order',
    atMs: 1,
    purge: true,
  };
  s3.before = (operation) => {
    if (operation === 'putNew') made.catalog.withheld.record([entry], false);
  };
  await made.drain('s3');
  expect([...s3.blobs.keys()]).toEqual([]);
  expect(s3.asked).toContain(`delete ${keyOf(BLOB)}`);
});

test('one that hangs delays no other', async () => {
  const [good, hung] = [new MemoryBackend('good'), new MemoryBackend('hung')];
  const made = await scene([good, hung]);
  hung.before = (_, __, signal) =>
    new Promise((___, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  await made.spool(BLOB);
  const running = made.start();
  await expect.poll(() => made.catalog.totals().stored).toBe(1);
  expect([stateAt(made, 'good'), stateAt(made, 'hung')]).toEqual(['good', 'wanted']);
  await running.stop();
});

test('a blob that only the spool holds goes before a blob that another backend has', async () => {
  const [first, second] = [new MemoryBackend('first'), new MemoryBackend('second')];
  const made = await scene([first, second]);
  second.before = () => {
    throw refusal('second');
  };
  const elsewhere = sampleBlob('elsewhere', 10);
  await made.spool(elsewhere, { medianTimeSeconds: 1 });
  await made.drain('first');
  await made.spool(BLOB, { medianTimeSeconds: 2 });
  expect(made.catalog.replicas.due('second', 10).map(({ entry }) => entry.versionHash)).toEqual([
    BLOB.versionHash,
    elsewhere.versionHash,
  ]);
});

test('the bytes a second to a backend are bounded', async () => {
  const backend = new MemoryBackend('s3');
  const made = await scene([backend], { bytesPerSecond: 10 * 1_048_576 });
  for (let index = 0; index < 6; index += 1) await made.spool(sampleBlob(`bounded ${index}`, 1_048_576));
  const begun = performance.now();
  await made.drain('s3');
  // Two of six mebibytes go at once, four at ten a second.
  expect(performance.now() - begun).toBeGreaterThan(390);
  expect(made.catalog.totals()).toMatchObject({ stored: 6 });
});

test('a second backend is asked beside a slow one after half a second, and gives the blob', async () => {
  const [slow, fast] = [new MemoryBackend('slow'), new MemoryBackend('fast')];
  const made = await scene([slow, fast]);
  await made.spool(BLOB);
  await made.drain('slow', 'fast');
  await made.store.delete(BLOB, NEVER);
  let isStopped = false;
  slow.before = (_, __, signal) =>
    new Promise((___, reject) =>
      signal.addEventListener('abort', () => {
        isStopped = true;
        made.clock.steadyMs += 500;
        reject(signal.reason);
      }),
    );
  const begun = performance.now();
  const { found } = await made.copies.find(BLOB, NEVER);
  expect(found?.from).toBe('fast');
  expect(performance.now() - begun).toBeGreaterThan(490);
  expect(isStopped).toBe(true);
  // From then on the faster one is asked first.
  slow.asked.length = 0;
  expect((await made.copies.find(BLOB, NEVER)).found?.from).toBe('fast');
  expect(slow.asked).toEqual([]);
});

test('a file that rotted without being touched is found out by the copy that came of it', async () => {
  const backend = new MemoryBackend('s3');
  const made = await scene([backend], { mode: 'keep' });
  const large = sampleBlob('rotten', 80_000);
  await made.spool(large);
  const { store } = made;
  const { copy } = store;
  store.copy = async (name, signal) => {
    const found = await copy.call(store, name, signal);
    return found === null ? null : { ...found, blob: { ...found.blob, bytes: Buffer.alloc(80_000) } };
  };
  await made.drain('s3');
  made.clock.wallMs += 60_000;
  await made.drain('s3');
  const [entry] = made.catalog.find(large.versionHash);
  const placements = entry === undefined ? [] : made.catalog.placementsOf(entry);
  expect(placements).toContainEqual(expect.objectContaining({ backend: 'local', state: 'damaged' }));
  expect(made.conditions.has('damage')).toBe(true);
});

test.each([
  ['is not called good', false],
  ['and let in again before a commit, is brought before it is called good', true],
])('a copy that was taken down before it was brought, %s', async (_says, isLetIn) => {
  const backend = new MemoryBackend('s3');
  const made = await scene([backend], { requests: 1 });
  const [before, after] = [sampleBlob('brought before', 1_000), sampleBlob('brought after', 1_000)];
  for (const blob of [before, BLOB, after]) await made.spool(blob);
  const order = { ...nameOf(BLOB), archiver: 'a', reason: 'told to', publicReason: null, atMs: 1, purge: false };
  const sayings = new WithheldSayings('a', made.catalog, made.damage);
  const proven: string[] = [];
  made.activity.on('proven', (_backend, entries) => proven.push(...entries.map(({ versionHash }) => versionHash)));
  backend.before = (operation, name) => {
    if (operation !== 'putNew') return;
    // One at a time: the copy between these two is due already, and nothing is put of it before the second one begins.
    if (name?.versionHash === before.versionHash) sayings.record([order], false);
    if (isLetIn && name?.versionHash === after.versionHash) sayings.revoke([order], false, 2);
  };
  await made.drain('s3');
  expect([backend.blobs.has(keyOf(BLOB)), stateAt(made, 's3')]).toEqual(isLetIn ? [true, 'good'] : [false, undefined]);
  const brought = isLetIn ? [before, after, BLOB] : [before, after];
  expect(proven).toEqual(brought.map(({ versionHash }) => versionHash));
});

describe('a backend that is filled from another one alone', () => {
  const blobs = Array.from({ length: 100 }, (_, index) => sampleBlob(`held by the first ${index}`, 100));

  /** Blobs that only the first backend holds, and that the second one is to have; the first one goes away. */
  async function filled() {
    const [first, second] = [new MemoryBackend('first'), new MemoryBackend('second')];
    const made = await scene([first, second], { requests: 8, budgetBytes: 20_000 });
    for (const blob of blobs) await made.spool(blob);
    await made.drain('first');
    while (await made.replication.room.relieve(NEVER));
    first.before = () => {
      throw refusal('first');
    };
    second.asked.length = 0;
    return { ...made, first, second };
  }

  test('gets in one run what has a source, behind all that has none, also where it failed before', async () => {
    const { drain, spool, second, catalog, clock } = await filled();
    await spool(BLOB);
    second.before = (operation) => {
      if (operation === 'putNew') throw refusal('second');
    };
    await drain('second');
    // All were tried: none waits for another.
    expect(catalog.replicas.due('second', 200)).toEqual([]);
    second.before = () => {};
    clock.wallMs += 60_000;
    clock.steadyMs += 60_000;
    await drain('second');
    expect([...second.blobs.keys()]).toEqual([keyOf(BLOB)]);
  });

  test('gets the copies that failed meanwhile with all its requests but one, where they have a source and no others come', async () => {
    const { drain, first, second, clock, catalog } = await filled();
    await drain('second');
    expect(catalog.replicas.due('second', 200)).toEqual([]);
    let [underWay, most] = [0, 0];
    second.before = async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      for (let turns = 0; turns < 3; turns += 1) await setImmediate();
      underWay -= 1;
    };
    const tryAgain = async () => {
      clock.wallMs += 600_000;
      clock.steadyMs += 600_000;
      most = 0;
      await drain('second');
      return [second.blobs.size, most];
    };
    // Copies that have no source keep to their share.
    expect(await tryAgain()).toEqual([0, 1]);
    first.before = () => {};
    expect(await tryAgain()).toEqual([100, 7]);
  });
});
