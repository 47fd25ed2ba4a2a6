import { describe, expect, test } from 'vitest';
import { ArchiveRule } from '../../src/core/blob/archive-rule.ts';
import { HoldfastError } from '../../src/core/blob/errors.ts';
import { parseBlockHash } from '../../src/core/blob/ids.ts';
import { parseSenderScript } from '../../src/core/blob/sender.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { Poller } from '../../src/ingest/poller.ts';
import { Activity } from '../../src/view/activity.ts';
import { archiveScene } from '../app/archive-under-test.ts';
import { FakeBlobNode, GENESIS, NOW_SECONDS } from '../app/fake-blob-node.ts';
import { openCatalog } from '../catalog/catalog-in-folder.ts';
import { eventually } from '../e2e/eventually.ts';
import { hurry } from '../hurried-time.ts';
import { readWhole } from '../read-whole.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const unreachable = () =>
  new HoldfastError('node/unreachable', 'The node cannot be reached.', { retryable: true, hint: 'Start it.' });

describe('reading the list', () => {
  test('goes through all pages, each entry once, though entries repeat and pages exceed what was asked for', async () => {
    const scene = await archiveScene({ pageEntries: 3 });
    const listed = Array.from({ length: 8 }, (_, index) => scene.node.publish(sampleBlob(`blob ${index}`, 50)));
    scene.node.listing = async ({ count, from }) => [
      ...listed.slice(Math.max(0, from - 1), from + count),
      ...listed.slice(0, 1),
    ];
    scene.start();
    await eventually(() => expect(scene.catalog.totals()).toMatchObject({ seen: 0, stored: 8 }));
    for (const { versionHash } of listed) expect(scene.node.askedFor(versionHash)).toBe(1);
  });

  test('a node that gives fewer entries a page than it is asked for is read to its end', async () => {
    const scene = await archiveScene();
    const listed = Array.from({ length: 10 }, (_, index) => scene.node.publish(sampleBlob(`capped ${index}`, 50)));
    scene.node.listing = async ({ from }) => listed.slice(from, from + 3);
    scene.start();
    await eventually(() => expect(scene.catalog.totals()).toMatchObject({ seen: 0, stored: 10 }));
    expect(scene.archive.status().list.entries).toBe(10);
  });

  describe('with a rule by sender, which a block alone tells', () => {
    const ours = parseSenderScript(`5120${'ab'.repeat(32)}`);
    const rule = new ArchiveRule({ maxBlobBytes: null, allowed: null, senders: new Set([ours]) });

    test('a blob waits for its block in the first hour of its window, and no longer', async () => {
      const scene = await archiveScene({ rule });
      const young = scene.node.publish(sampleBlob('young', 50), NOW_SECONDS - 3_599);
      scene.node.publish(sampleBlob('older', 50), NOW_SECONDS - 3_600);
      scene.start();
      await eventually(() => expect(scene.catalog.totals()).toMatchObject({ seen: 1, stored: 1 }));
      expect(scene.node.askedFor(young.versionHash)).toBe(0);
    });

    test('only a blob that came after the first reading waits where a list tells no time', async () => {
      const scene = await archiveScene({ rule });
      const listed = [scene.node.publish(sampleBlob('of any age', 50))];
      scene.node.listing = async () => listed.map((entry) => ({ ...entry, medianTimeSeconds: null }));
      scene.start();
      await eventually(() => expect(scene.catalog.totals()).toMatchObject({ seen: 0, stored: 1 }));
      const fresh = scene.node.publish(sampleBlob('fresh', 50));
      listed.push(fresh);
      await eventually(() => expect(scene.catalog.totals()).toMatchObject({ seen: 1, stored: 1 }));
      expect(scene.node.askedFor(fresh.versionHash)).toBe(0);
    });
  });

  test('a list longer than is believed is told, and what it did not name is not called absent', async () => {
    const scene = await archiveScene({ pageEntries: 2, maxEntries: 4 });
    for (let index = 0; index < 8; index += 1) scene.node.publish(sampleBlob(`endless ${index}`, 50));
    scene.start();
    await eventually(() => expect(scene.conditions.all()).toMatchObject([{ code: 'archive/list-too-long' }]));
    const unknown = { versionHash: sampleBlob('unknown', 1).versionHash, hashType: null };
    expect(await readWhole(scene.archive, unknown, NEVER)).toMatchObject({
      kind: 'unavailable',
      reason: 'cannot-tell',
    });
  });

  test('entries that cannot be read are told and hold up no others; nothing is called absent meanwhile', async () => {
    const scene = await archiveScene();
    scene.node.publish(sampleBlob('readable', 50));
    scene.node.unreadable = 2;
    scene.start();
    await eventually(() => expect(scene.catalog.totals()).toMatchObject({ seen: 0, stored: 1 }));
    const unreadable = { code: 'archive/unreadable-entries', blocksReadiness: false };
    await eventually(() => expect(scene.conditions.all()).toMatchObject([unreadable]));
    const unknown = { versionHash: sampleBlob('unknown', 1).versionHash, hashType: null };
    expect(await readWhole(scene.archive, unknown, NEVER)).toMatchObject({
      kind: 'unavailable',
      reason: 'cannot-tell',
    });
    scene.node.unreadable = 0;
    await eventually(async () => expect(await readWhole(scene.archive, unknown, NEVER)).toEqual({ kind: 'absent' }));
    expect(scene.conditions.all()).toEqual([]);
  });

  test('ends when a page has nothing new, though the node gives full pages for ever', async () => {
    const scene = await archiveScene({ pageEntries: 2 });
    const listed = [scene.node.publish(sampleBlob('a', 50)), scene.node.publish(sampleBlob('b', 50))];
    scene.node.listing = async () => listed;
    scene.start();
    await eventually(() => expect(scene.archive.status().list.entries).toBe(2));
    expect(scene.node.pages.filter(({ from }) => from > 2)).toEqual([]);
  });

  test('a dialect that tells no time: the blob is as urgent as what arrives now', async () => {
    const scene = await archiveScene();
    const listed = scene.node.publish(sampleBlob('timeless', 50));
    scene.node.listing = async () => [{ ...listed, medianTimeSeconds: null }];
    scene.start();
    await eventually(() => expect(scene.catalog.totals().stored).toBe(1));
    expect(scene.catalog.find(listed.versionHash)).toMatchObject([
      { medianTimeSeconds: scene.node.tipValue.medianTimeSeconds },
    ]);
  });

  test('a blob that too large a size left out is fetched when a list tells a smaller one, and the log says so', async () => {
    const rule = new ArchiveRule({ maxBlobBytes: 1_000, allowed: null });
    const scene = await archiveScene({ rule, sweepMs: 20 });
    const listed = scene.node.publish(sampleBlob('of two sizes', 50));
    let sizeBytes = 5_000;
    scene.node.listing = async ({ from }) => (from === 0 ? [{ ...listed, sizeBytes }] : []);
    scene.start();
    await eventually(() => expect(scene.catalog.leftOut.summary.count).toBe(1));
    expect(scene.catalog.totals()).toMatchObject({ seen: 0, stored: 0 });
    sizeBytes = 50;
    await eventually(() => expect(scene.catalog.totals()).toMatchObject({ seen: 0, stored: 1 }));
    expect(scene.catalog.leftOut.summary.count).toBe(0);
    expect(scene.log.join('')).toContain(`${listed.versionHash} is listed with 50 bytes, and was with more`);
  });

  test('a page that fails in the middle is told, and the list is read again', async () => {
    hurry();
    const scene = await archiveScene({ pageEntries: 1 });
    const listed = [scene.node.publish(sampleBlob('a', 50)), scene.node.publish(sampleBlob('b', 50))];
    let failures = 0;
    scene.node.listing = async ({ from }) => {
      if (from === 1 && failures++ < 2) throw unreachable();
      return listed.slice(from, from + 1);
    };
    scene.start();
    await eventually(() => expect(scene.conditions.all()).toMatchObject([{ code: 'node/unreachable' }]));
    await eventually(() => expect(scene.catalog.totals().stored).toBe(2));
    await eventually(() => expect(scene.conditions.all()).toEqual([]));
  });
});

test('a name that leaves the list is announced to those who wait for it', async () => {
  const node = new FakeBlobNode();
  const blob = node.publish(sampleBlob('dropped', 50));
  const catalog = openCatalog();
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), Date.now);
  const binding = { boundChain: async () => null, bindTo: async () => {} };
  const modules = { node, catalog, binding, conditions, activity: new Activity(), clock: SYSTEM_CLOCK };
  const poller = new Poller({ pollMs: 5, sweepMs: 10, pageEntries: 100 }, modules);
  const stopping = new AbortController();
  const running = poller.run(stopping.signal);
  await eventually(() => expect(poller.isListed(blob.versionHash)).toBe(true));
  await eventually(() => expect(poller.isListCurrent()).toBe(true));
  const { notifications } = poller.changes;
  node.blobs.delete(blob.versionHash);
  await eventually(() => expect(poller.isListed(blob.versionHash)).toBe(false));
  expect(poller.changes.notifications).toBe(notifications + 1);
  stopping.abort();
  await running;
});

test('a list is out of date after the machine was suspended, until it is read again', async () => {
  const catalog = openCatalog();
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), Date.now);
  const binding = { boundChain: async () => null, bindTo: async () => {} };
  // During a suspension the wall clock goes on, and the steady one stands still.
  let suspendedMs = 0;
  const clock = { steadyMs: SYSTEM_CLOCK.steadyMs, wallMs: () => SYSTEM_CLOCK.wallMs() + suspendedMs };
  const modules = { node: new FakeBlobNode(), catalog, binding, conditions, activity: new Activity(), clock };
  const poller = new Poller({ pollMs: 5, sweepMs: 600_000, pageEntries: 100 }, modules);
  const stopping = new AbortController();
  const running = poller.run(stopping.signal);
  await eventually(() => expect(poller.isListCurrent()).toBe(true));
  suspendedMs = 7 * 3_600_000;
  expect(poller.isListCurrent()).toBe(false);
  expect(await poller.readAgain(NEVER)).toBe(true);
  stopping.abort();
  await running;
});

describe('a name that the last reading of the list did not have', () => {
  async function quietScene() {
    const scene = await archiveScene({ sweepMs: 600_000 });
    scene.start();
    const unknown = { versionHash: sampleBlob('unknown', 1).versionHash, hashType: null };
    await eventually(async () => expect(await readWhole(scene.archive, unknown, NEVER)).toEqual({ kind: 'absent' }));
    return { ...scene, unknown };
  }

  test('is not absent when the node has had it since', async () => {
    const { node, archive } = await quietScene();
    const blob = sampleBlob('just submitted', 50);
    node.publish(blob);
    const name = { versionHash: blob.versionHash, hashType: null };
    expect(await readWhole(archive, name, NEVER)).toMatchObject({ kind: 'unavailable', reason: 'not-fetched-yet' });
    await eventually(async () => expect(await readWhole(archive, name, NEVER)).toMatchObject({ kind: 'found' }));
    const other = sampleBlob('submitted later', 50);
    node.publish(other);
    const record = await archive.record({ versionHash: other.versionHash, hashType: null }, NEVER);
    expect(record.kind).not.toBe('absent');
  });

  test('costs the node one reading together with all others that are asked for meanwhile', async () => {
    const { node, archive, store } = await quietScene();
    node.pages.splice(0);
    const names = Array.from({ length: 300 }, (_, index) => sampleBlob(`made up ${index}`, 1).versionHash);
    // Each name is looked for on the disk first, at last under this hash type. A busy disk would spread the questions over seconds.
    const looked = Promise.withResolvers<void>();
    const stat = store.stat.bind(store);
    let looks = 0;
    store.stat = async (key, signal) => {
      const found = await stat(key, signal);
      if (typeof key === 'string' || !('hashType' in key) || key.hashType !== 'blake2s256') return found;
      looks += 1;
      if (looks === names.length) looked.resolve();
      await looked.promise;
      return found;
    };
    const asked = names.map((versionHash) => readWhole(archive, { versionHash, hashType: null }, NEVER));
    expect((await Promise.all(asked)).every(({ kind }) => kind === 'absent')).toBe(true);
    expect(node.pages.length).toBeLessThanOrEqual(2);
  });

  test('is not absent while the node does not answer', async () => {
    const { node, archive, unknown } = await quietScene();
    node.listing = () => Promise.reject(unreachable());
    expect(await readWhole(archive, unknown, NEVER)).toMatchObject({ kind: 'unavailable', reason: 'cannot-tell' });
    node.listing = null;
    await eventually(async () => expect(await readWhole(archive, unknown, NEVER)).toEqual({ kind: 'absent' }));
  });

  test('is not waited for by a client that has gone away', async () => {
    const { node, archive, unknown } = await quietScene();
    const listed = Promise.withResolvers<never>();
    const begun = Promise.withResolvers<void>();
    node.listing = () => {
      begun.resolve();
      return listed.promise;
    };
    const gone = new AbortController();
    const answer = readWhole(archive, unknown, gone.signal);
    await begun.promise;
    gone.abort();
    expect(await answer).toMatchObject({ kind: 'unavailable' });
    listed.reject(unreachable());
  });
});

test('a clock that steps back keeps nothing from being listed, fetched and called absent', async () => {
  let stepMs = 0;
  const scene = await archiveScene({ nowMs: () => Date.now() - stepMs });
  scene.node.publish(sampleBlob('before the step', 50));
  scene.start();
  await eventually(() => expect(scene.catalog.totals().stored).toBe(1));
  stepMs = 3_600_000;
  scene.node.publish(sampleBlob('after the step', 50));
  await eventually(() => expect(scene.catalog.totals().stored).toBe(2));
});

describe('the chain', () => {
  test('the first node binds the folder to its chain', async () => {
    const dataDir = temporaryFolder();
    const scene = await archiveScene({ dataDir });
    scene.start();
    await eventually(() => expect(scene.archive.status().chain.genesis).toBe(GENESIS));
  });

  test('a node of another chain is told, asked no further, and taken back when it is the right one again', async () => {
    const dataDir = temporaryFolder();
    const first = await archiveScene({ dataDir });
    const running = first.start();
    await eventually(() => expect(first.archive.status().list.sweptAt).not.toBeNull());
    await running.stop();
    await first.release();

    const node = new FakeBlobNode();
    node.genesis = async () => parseBlockHash('99'.repeat(32));
    node.publish(sampleBlob('of another chain', 50));
    const scene = await archiveScene({ dataDir, node });
    scene.start();
    await eventually(() => expect(scene.conditions.all()).toMatchObject([{ code: 'archive/other-chain' }]));
    expect({ pages: node.pages, requests: node.requests }).toEqual({ pages: [], requests: [] });
    expect(scene.catalog.totals().seen).toBe(0);

    node.genesis = async () => GENESIS;
    await eventually(() => expect(scene.catalog.totals().stored).toBe(1));
    await eventually(() => expect(scene.conditions.all()).toEqual([]));
  });
});

describe('a node that is on another chain all at once', () => {
  const OTHER = parseBlockHash('99'.repeat(32));
  const switched = async () => {
    const scene = await archiveScene();
    scene.start();
    await eventually(() => expect(scene.archive.status().list.sweptAt).not.toBeNull());
    return scene;
  };

  test('with its new tip: nothing that it lists is taken over', async () => {
    const scene = await switched();
    scene.node.genesis = async () => OTHER;
    scene.node.mine();
    scene.node.listing = async () => [scene.node.publish(sampleBlob('foreign', 50))];
    const tipBefore = scene.archive.status().node.tip;
    await eventually(() => expect(scene.conditions.all()).toMatchObject([{ code: 'archive/other-chain' }]));
    const { node, content } = scene.archive.status();
    expect(node.tip).toBe(tipBefore);
    expect(content).toMatchObject({ seen: 0, spooled: 0, stored: 0 });
  });

  test('after a connection broke: nothing more is fetched from it', async () => {
    const scene = await switched();
    scene.node.fetching = async () => {
      scene.node.genesis = async () => OTHER;
      throw new HoldfastError('node/connection-lost', 'The connection broke.', { retryable: true, hint: 'Wait.' });
    };
    scene.node.publish(sampleBlob('cut off', 50));
    await eventually(() => {
      expect(scene.conditions.all()).toContainEqual(expect.objectContaining({ code: 'archive/other-chain' }));
    });
    expect(scene.node.requests).toHaveLength(1);
  });
});

describe('answers about a name that is unknown', () => {
  const unknown = { versionHash: sampleBlob('unknown', 1).versionHash, hashType: null };

  test('nothing before the list was read once', async () => {
    const scene = await archiveScene();
    expect(await readWhole(scene.archive, unknown, NEVER)).toMatchObject({
      kind: 'unavailable',
      reason: 'cannot-tell',
    });
    expect(scene.archive.status().conditions).toMatchObject([{ code: 'node/not-asked-yet', blocksReadiness: true }]);
  });

  test('absent, once the whole list was read', async () => {
    const scene = await archiveScene();
    scene.start();
    await eventually(async () => expect(await readWhole(scene.archive, unknown, NEVER)).toEqual({ kind: 'absent' }));
    expect(await scene.archive.record(unknown, NEVER)).toEqual({ kind: 'absent' });
  });

  test('nothing while the node catches up', async () => {
    const scene = await archiveScene();
    scene.node.tipValue = { ...scene.node.tipValue, syncing: true };
    scene.start();
    await eventually(() => expect(scene.archive.status().list.sweptAt).not.toBeNull());
    expect(await readWhole(scene.archive, unknown, NEVER)).toMatchObject({
      kind: 'unavailable',
      reason: 'cannot-tell',
    });
  });

  test('nothing while the node does not answer', async () => {
    const scene = await archiveScene();
    scene.start();
    await eventually(async () => expect(await readWhole(scene.archive, unknown, NEVER)).toEqual({ kind: 'absent' }));
    scene.node.tipNow = async () => {
      throw unreachable();
    };
    await eventually(async () => {
      expect(await readWhole(scene.archive, unknown, NEVER)).toMatchObject({
        kind: 'unavailable',
        reason: 'cannot-tell',
      });
    });
    expect(scene.archive.status().node.reachable).toBe(false);
  });

  test('nothing while bytes of that name lie in the store without a row', async () => {
    const scene = await archiveScene();
    scene.start();
    const blob = sampleBlob('without a row', 50);
    const name = { versionHash: blob.versionHash, hashType: null };
    await eventually(async () => expect(await readWhole(scene.archive, name, NEVER)).toEqual({ kind: 'absent' }));
    await scene.store.put(blob, 'replace', NEVER);
    expect(await readWhole(scene.archive, name, NEVER)).toMatchObject({ kind: 'unavailable', reason: 'cannot-tell' });
  });

  test('the other hash type does not count for a name that means one', async () => {
    const scene = await archiveScene();
    const blob = sampleBlob('keccak only', 50, 'keccak256');
    scene.node.publish(blob);
    scene.start();
    await eventually(() => expect(scene.catalog.totals().stored).toBe(1));
    const { versionHash } = blob;
    expect(await readWhole(scene.archive, { versionHash, hashType: 'keccak256' }, NEVER)).toMatchObject({
      kind: 'found',
    });
    expect(await readWhole(scene.archive, { versionHash, hashType: 'blake2s256' }, NEVER)).toMatchObject({
      kind: 'absent',
    });
  });
});
