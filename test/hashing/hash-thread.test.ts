import { once } from 'node:events';
import { markAsUntransferable, Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { createNodeHasher, HashThread, type HashThreadOptions } from '../../src/hashing/index.ts';
import { sampleBlob } from '../sample-blobs.ts';

const LARGE_BYTES = 300_000;

async function threadWith(options: HashThreadOptions = {}): Promise<HashThread> {
  const thread = new HashThread(await createNodeHasher(), options);
  onTestFinished(() => thread.stop());
  return thread;
}

/** The bytes are handed over: each verification needs its own. */
function candidate(sizeBytes: number) {
  const { versionHash, bytes } = sampleBlob('hashed elsewhere', sizeBytes);
  return { versionHash, hashType: null, bytes: new Uint8Array(bytes) };
}

/** Verifies a large blob, and gives the worker that was started for it. */
async function verifyAndCatch(thread: HashThread): Promise<Worker> {
  const started = once(process, 'worker');
  const verified = thread.verify(candidate(LARGE_BYTES));
  const [worker] = await started;
  if (!(worker instanceof Worker)) throw new TypeError('no worker');
  expect((await verified)?.bytes.length).toBe(LARGE_BYTES);
  return worker;
}

test('a thread starts with the first large blob, ends after a rest, and starts again', async () => {
  const thread = await threadWith({ restMs: 20 });
  const first = await verifyAndCatch(thread);
  await once(first, 'exit');
  const second = await verifyAndCatch(thread);
  expect(second).not.toBe(first);
});

test('bytes that cannot be handed over fail, and the thread ends after its rest all the same', async () => {
  const thread = await threadWith({ restMs: 20 });
  const started = once(process, 'worker');
  const given = candidate(LARGE_BYTES);
  markAsUntransferable(given.bytes.buffer);
  await expect(thread.verify(given)).rejects.toThrow('Cannot transfer');
  const [worker] = await started;
  await once(worker, 'exit');
});

test('a small blob starts no thread', async () => {
  const started: unknown[] = [];
  const note = (worker: unknown) => started.push(worker);
  process.on('worker', note);
  onTestFinished(() => {
    process.off('worker', note);
  });
  const thread = await threadWith();
  expect(await thread.verify(candidate(1_000))).not.toBeNull();
  expect(started).toEqual([]);
});

test('a thread that dies fails the blob that it has, and later blobs are hashed on the main thread', async () => {
  const thread = await threadWith();
  const worker = await verifyAndCatch(thread);
  void worker.terminate();
  const underWay = thread.verify(candidate(LARGE_BYTES));
  await expect(underWay).rejects.toThrow('the hashing thread ended');
  expect((await thread.verify(candidate(LARGE_BYTES)))?.bytes.length).toBe(LARGE_BYTES);
});

test('a thread that died is told once, and another one starts after a while', async () => {
  const failures: unknown[] = [];
  const thread = await threadWith({ retryMs: 20, onFailure: (cause) => failures.push(cause) });
  const first = await verifyAndCatch(thread);
  void first.terminate();
  await expect(thread.verify(candidate(LARGE_BYTES))).rejects.toThrow('the hashing thread ended');
  expect(failures).toMatchObject([{ message: 'the hashing thread ended' }]);
  let second: unknown = null;
  process.once('worker', (worker) => {
    second = worker;
  });
  await expect
    .poll(async () => {
      expect((await thread.verify(candidate(LARGE_BYTES)))?.bytes.length).toBe(LARGE_BYTES);
      return second;
    })
    .toBeInstanceOf(Worker);
  expect(failures).toHaveLength(1);
});
