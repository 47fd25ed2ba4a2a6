import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { HoldfastError } from '../../src/core/blob/errors.ts';
import type { FetchOutcome, ListedBlob } from '../../src/node/blob-node.ts';
import { archiveScene } from '../app/archive-under-test.ts';
import { FakeBlobNode, NOW_SECONDS } from '../app/fake-blob-node.ts';
import { eventually } from '../e2e/eventually.ts';
import { hurry } from '../hurried-time.ts';
import { readWhole } from '../read-whole.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const broken = () =>
  new HoldfastError('node/malformed-answer', 'The answer is no JSON.', { retryable: true, hint: 'Look at the node.' });

const timely = (listed: ListedBlob) => ({ ...listed, medianTimeSeconds: listed.medianTimeSeconds ?? NOW_SECONDS });

const large = (label: string) => sampleBlob(label, 300_000);

describe('fetching', () => {
  test('everything that is listed comes, each blob is asked for once, and it is proven', async () => {
    const scene = await archiveScene();
    const blobs = Array.from({ length: 40 }, (_, index) =>
      sampleBlob(`blob ${index}`, index % 8 === 0 ? 80_000 : 100 + index),
    );
    for (const blob of blobs) scene.node.publish(blob);
    scene.start();
    await eventually(() => expect(scene.catalog.totals()).toMatchObject({ seen: 0, spooled: 0, stored: 40 }));
    for (const blob of blobs) {
      expect(scene.node.askedFor(blob.versionHash)).toBe(1);
      const lookup = await readWhole(scene.archive, { versionHash: blob.versionHash, hashType: null }, NEVER);
      expect(lookup).toMatchObject({ kind: 'found', blob: { hashType: 'keccak256' } });
    }
  });

  test('no more requests are under way than configured, and no batch is larger than the node likes', async () => {
    const scene = await archiveScene({ requests: 2 });
    for (let index = 0; index < 20; index += 1) scene.node.publish(large(`large ${index}`));
    for (let index = 0; index < 100; index += 1) scene.node.publish(sampleBlob(`small ${index}`, 50));
    const answer = scene.node.fetching;
    scene.node.fetching = async (wanted, signal) => {
      await pause(5);
      return await answer(wanted, signal);
    };
    scene.start();
    await eventually(() => expect(scene.catalog.totals().stored).toBe(120));
    expect(scene.node.maxUnderWay).toBe(2);
    for (const request of scene.node.requests) {
      expect(request.length).toBeLessThanOrEqual(32);
      if (request.length > 1)
        expect(request.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)).toBeLessThanOrEqual(262_144);
    }
  });

  test('the blob nearest to its deadline is requested first', async () => {
    const scene = await archiveScene({ requests: 1 });
    const order = [5, 2, 9, 1, 7];
    for (const urgency of order) scene.node.publish(large(`urgency ${urgency}`), NOW_SECONDS - 100 * urgency);
    scene.start();
    await eventually(() => expect(scene.catalog.totals().stored).toBe(5));
    const asked = scene.node.requests.map(([one]) => (NOW_SECONDS - (one?.medianTimeSeconds ?? 0)) / 100);
    expect(asked).toEqual([9, 7, 5, 2, 1]);
  });

  test('a blob whose answer breaks the request is asked for alone, and holds up none of those it was asked with', async () => {
    hurry();
    const scene = await archiveScene();
    const poison = sampleBlob('poison', 77);
    const good = Array.from({ length: 20 }, (_, index) => sampleBlob(`good ${index}`, 100));
    for (const blob of [poison, ...good]) scene.node.publish(blob);
    const answer = scene.node.fetching;
    scene.node.fetching = async (wanted, signal) => {
      if (wanted.some(({ versionHash }) => versionHash === poison.versionHash)) throw broken();
      return await answer(wanted, signal);
    };
    scene.start();
    await eventually(() => expect(scene.catalog.totals()).toMatchObject({ seen: 1, stored: 20 }));
    expect(scene.catalog.findQueued(poison.versionHash)).toMatchObject({ lastErrorCode: 'node/malformed-answer' });
    // The broken request itself may be told too, for as long as it is the last that was made.
    const told = scene.conditions.all();
    expect(told).toContainEqual(expect.objectContaining({ code: 'archive/blobs-failing' }));
    expect(told.filter(({ blocksReadiness }) => blocksReadiness)).toEqual([]);
  });

  test.each([
    ['a peer or a file gives', false],
    ['a backend is found to hold', true],
  ])('a blob that failed and that %s is told no more', async (_how, isFoundElsewhere) => {
    const scene = await archiveScene();
    const blob = sampleBlob('brought by another way', 77);
    const { hashType, versionHash, bytes } = blob;
    scene.node.publish(blob);
    scene.node.fetching = async () => {
      throw broken();
    };
    scene.start();
    const isTold = () => scene.conditions.all().some(({ code }) => code === 'archive/blobs-failing');
    await eventually(() => expect(isTold()).toBe(true));
    const content = { sizeBytes: bytes.length, txid: null, medianTimeSeconds: NOW_SECONDS, firstSeenMs: 1 };
    if (isFoundElsewhere) {
      // Without its bytes it would be found damaged, and wait again.
      await scene.store.put(blob, 'replace', NEVER);
      scene.catalog.recordSpooled([{ hashType, versionHash, ...content }]);
      scene.node.mine();
    } else await scene.archive.importing.spooler.spool(blob, content, NEVER);
    await eventually(() => expect(isTold()).toBe(false));
  });

  test('a fetch that fails after its blob came by another way is not told', async () => {
    const scene = await archiveScene();
    const blob = sampleBlob('brought meanwhile', 77);
    const { hashType, versionHash, bytes } = blob;
    scene.node.publish(blob);
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<never>();
    scene.node.fetching = () => {
      asked.resolve();
      return answer.promise;
    };
    scene.start();
    await asked.promise;
    await scene.store.put(blob, 'replace', NEVER);
    const content = { sizeBytes: bytes.length, txid: null, medianTimeSeconds: NOW_SECONDS, firstSeenMs: 1 };
    scene.catalog.recordSpooled([{ hashType, versionHash, ...content }]);
    const failed = once(scene.archive.activity, 'failed');
    answer.reject(broken());
    await failed;
    expect(scene.conditions.all().map(({ code }) => code)).not.toContain('archive/blobs-failing');
  });

  test('many requests that break make the archive unready, and it asks no more than once a second', async () => {
    const scene = await archiveScene();
    for (let index = 0; index < 20; index += 1) scene.node.publish(large(`large ${index}`));
    scene.node.fetching = async () => {
      throw broken();
    };
    scene.start();
    await eventually(() => {
      expect(scene.conditions.all()).toContainEqual(
        expect.objectContaining({ code: 'node/malformed-answer', blocksReadiness: true }),
      );
    });
    expect(scene.node.requests.length).toBeLessThan(10);
  });

  test('blobs whose requests hang keep one slot at most from those that never failed', async () => {
    hurry();
    const scene = await archiveScene({ requests: 2 });
    const hanging = Array.from({ length: 3 }, (_, index) => large(`hanging ${index}`));
    for (const blob of hanging) scene.node.publish(blob, NOW_SECONDS - 100);
    // The hanging blobs failed before, and are due.
    scene.catalog.noteListed(hanging.map((blob) => scene.node.publish(blob, NOW_SECONDS - 100)).map(timely));
    const failed = { code: 'x/hung', message: 'hung', nextAttemptMs: 0 };
    scene.catalog.recordFailures(hanging.map(({ versionHash }) => ({ versionHash, ...failed })));
    for (let index = 0; index < 8; index += 1) scene.node.publish(large(`healthy ${index}`));
    const answer = scene.node.fetching;
    scene.node.fetching = async (wanted, signal) => {
      if (wanted.some(({ versionHash }) => hanging.some((one) => one.versionHash === versionHash))) {
        await pause(60_000, undefined, { signal });
      }
      return await answer(wanted, signal);
    };
    scene.start();
    await eventually(() => expect(scene.catalog.totals()).toMatchObject({ seen: 3, stored: 8 }));
  });

  test('a second node that hangs holds up no blob that failed once and that the first node has', async () => {
    const other = new FakeBlobNode();
    other.fetching = async () => {
      await pause(20);
      throw new HoldfastError('node/timeout', 'No answer.', { retryable: true, hint: 'Look at the node.' });
    };
    const scene = await archiveScene({ otherNodes: [other] });
    const holes = Array.from({ length: 100 }, (_, index) => timely(new FakeBlobNode().publish(large(`hole ${index}`))));
    const wanted = large('failed once');
    // The holes are older, so that their turn comes first.
    scene.catalog.noteListed(holes.map((hole) => ({ ...hole, medianTimeSeconds: NOW_SECONDS - 100 })));
    scene.catalog.noteListed([timely(scene.node.publish(wanted))]);
    const failed = { code: 'x/away', message: 'The node restarts.', nextAttemptMs: 0 };
    scene.catalog.recordFailures([...holes, wanted].map(({ versionHash }) => ({ versionHash, ...failed })));
    scene.start();
    await eventually(() => expect(scene.catalog.totals().stored).toBe(1));
    // One request for each slot of the queue, before the first of them has failed.
    expect(other.requests.length).toBeLessThanOrEqual(2);
    // The silence of the other node is no absence: each hole is due again.
    const hole = scene.catalog.findQueued(holes[99]?.versionHash ?? wanted.versionHash);
    expect(hole).toMatchObject({ lastErrorCode: 'node/timeout' });
    // On a slow machine the hole was due once more before the other blob came.
    expect(hole?.attempts).toBeGreaterThanOrEqual(2);
  });

  test.each([
    ['bytes that hash to something else', sampleBlob('other', 300_000).bytes, 'archive/wrong-bytes'],
    ['fewer bytes', new Uint8Array(3), 'archive/wrong-bytes'],
    ['nothing', null, 'archive/absent-at-node'],
  ])('%s: recorded with the reason, not stored, and told', async (_name, bytes, code) => {
    const scene = await archiveScene();
    const blob = large('wanted');
    const { versionHash } = scene.node.publish(blob);
    const wrong: FetchOutcome =
      bytes === null ? { kind: 'absent' } : { kind: 'bytes', blob: { versionHash, hashType: null, bytes } };
    scene.node.fetching = async () => [wrong];
    scene.start();
    await eventually(() => expect(scene.catalog.findQueued(versionHash)).toMatchObject({ lastErrorCode: code }));
    expect(await scene.store.stat(blob, NEVER)).toBeNull();
    expect(await readWhole(scene.archive, { versionHash, hashType: null }, NEVER)).toMatchObject({
      kind: 'unavailable',
      reason: 'not-fetched-yet',
    });
    expect(scene.log.join('')).toContain(versionHash);
  });

  test.each([0, 400, 3_000_000])(
    'a blob that is listed with %i bytes and has 500 comes, with its own size',
    async (sizeBytes) => {
      const scene = await archiveScene();
      const blob = sampleBlob('of another size', 500);
      const listed = scene.node.publish(blob);
      scene.node.listing = async ({ from }) => [{ ...listed, sizeBytes }].slice(from);
      scene.start();
      await eventually(() => expect(scene.catalog.totals()).toMatchObject({ seen: 0, stored: 1 }));
      expect(scene.catalog.find(blob.versionHash)).toMatchObject([{ sizeBytes: 500 }]);
    },
  );

  test("the node's complaint about bytes is reported only if they do not verify", async () => {
    const scene = await archiveScene();
    const good = scene.node.publish(large('good, and doubted'));
    const bad = scene.node.publish(large('bad, and doubted'));
    scene.node.fetching = async (wanted) =>
      wanted.map((one) => {
        const blob = { versionHash: one.versionHash, hashType: null, bytes: large('good, and doubted').bytes };
        return { kind: 'bytes', blob, doubt: broken() };
      });
    scene.start();
    await eventually(() => expect(scene.catalog.totals()).toMatchObject({ seen: 1, stored: 1 }));
    await eventually(() =>
      expect(scene.catalog.findQueued(bad.versionHash)).toMatchObject({ lastErrorCode: 'node/malformed-answer' }),
    );
    expect(scene.catalog.findQueued(good.versionHash)).toBeNull();
  });

  test('an orphan that a crash left in the store is indexed, not fetched', async () => {
    const dataDir = temporaryFolder();
    const node = new FakeBlobNode();
    const blob = large('left over');
    const before = await archiveScene({ node, dataDir });
    before.catalog.noteListed([{ ...node.publish(blob), medianTimeSeconds: NOW_SECONDS }]);
    before.catalog.recordRebuilt();
    await before.store.put(blob, 'replace', NEVER);
    await pause(2);
    const { archive, catalog } = await reopened(before, dataDir);
    await eventually(() => expect(catalog.totals()).toMatchObject({ seen: 0, stored: 1 }));
    expect(node.requests).toEqual([]);
    expect(await readWhole(archive, { versionHash: blob.versionHash, hashType: null }, NEVER)).toMatchObject({
      kind: 'found',
    });
  });
});

/** The folder after the process that had it is gone. */
async function reopened(before: Awaited<ReturnType<typeof archiveScene>>, dataDir: string) {
  await before.release();
  const scene = await archiveScene({ node: before.node, dataDir });
  scene.start();
  return scene;
}
