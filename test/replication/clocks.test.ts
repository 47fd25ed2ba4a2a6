import { expect, test } from 'vitest';
import { ROW_LIMIT_BYTES } from '../../src/storage/local/local-store.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
import { MemoryBackend, refusal } from './memory-backend.ts';
import { replicationScene } from './replication-scene.ts';

/** The value of the scene. */
const REHASH_MS = 60_000;
const HOUR_MS = 3_600_000;

/** A backend that refuses everything, and a blob that waits for it. */
async function waiting() {
  const backend = new MemoryBackend('s3');
  const scene = await replicationScene({ backends: [backend] });
  await scene.replication.admit(NEVER);
  await scene.spool(sampleBlob('waiting', 100));
  backend.before = () => {
    throw refusal('s3');
  };
  const drain = () => scene.replication.drain(['s3'], NEVER);
  return {
    ...scene,
    backend,
    drain,
    puts: () => backend.asked.splice(0).filter((asked) => asked.startsWith('put')).length,
  };
}

test.each([-HOUR_MS, -24 * HOUR_MS])('a wall clock that steps back by %i ms keeps nothing resting', async (step) => {
  const { clock, drain, puts, backend, catalog } = await waiting();
  await drain();
  expect(puts()).toBe(1);
  await drain();
  expect(puts()).toBe(0);
  backend.before = () => {};
  clock.wallMs += step;
  await drain();
  expect(catalog.totals()).toMatchObject({ stored: 1 });
});

test('a wall clock that runs ahead makes one try of it, not a storm', async () => {
  const { clock, drain, puts } = await waiting();
  for (let step = 0; step < 20; step += 1) {
    clock.wallMs += 24 * HOUR_MS;
    await drain();
  }
  // Five in a row open the breaker, whose pause the wall clock cannot shorten.
  expect(puts()).toBe(5);
  clock.steadyMs += 2_000;
  await drain();
  expect(puts()).toBe(1);
});

test.each([-48 * HOUR_MS, 48 * HOUR_MS])(
  'the time for which a hash is good follows no wall clock: %i ms',
  async (step) => {
    const { clock, rehash, store } = await waiting();
    const blob = sampleBlob('on disk as a file', ROW_LIMIT_BYTES + 1);
    const identity = await store.keep(blob, NEVER);
    if (identity === null) throw new Error('It is too small for a file of its own.');
    rehash.noteWritten(blob, identity);
    clock.wallMs += step;
    clock.steadyMs += REHASH_MS - 1;
    expect(rehash.holds(blob, identity)).toBe(true);
    clock.steadyMs += 1;
    expect(rehash.holds(blob, identity)).toBe(false);
  },
);

test('a pause ends though the wall clock stands still or goes back', async () => {
  const { clock, drain, puts, replication, catalog, backend } = await waiting();
  for (let failure = 0; failure < 5; failure += 1) {
    clock.wallMs += HOUR_MS;
    await drain();
  }
  expect(replication.status()).toMatchObject([{ id: 's3', state: 'left-alone' }]);
  clock.wallMs -= 48 * HOUR_MS;
  expect(puts()).toBe(5);
  backend.before = () => {};
  await drain();
  expect(catalog.totals().stored).toBe(0);
  clock.steadyMs += 40_000;
  await drain();
  expect(catalog.totals().stored).toBe(1);
});
