import { expect, test } from 'vitest';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { Holders } from '../../src/reading/holders.ts';
import { BackendHandle } from '../../src/replication/backend-handle.ts';
import { keyOf, MemoryBackend } from '../replication/memory-backend.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';

const BLOB = sampleBlob('in no books', 1_000);

test.each([
  ['keeps nothing for good', null],
  ['keeps it', () => true],
  ['has it without keeping it', () => false],
])('a blob that no row has is not absent while a backend has it: one that %s', async (_how, isPinned) => {
  const backend = new MemoryBackend('one');
  backend.isPinned = isPinned;
  backend.blobs.set(keyOf(BLOB), BLOB.bytes);
  const site = new BackendHandle(backend, { verify: async () => null }, SYSTEM_CLOCK);
  site.isAdmitted = true;
  const holders = new Holders({ stat: async () => null }, [site], SYSTEM_CLOCK);
  expect(await holders.of(nameOf(BLOB), NEVER)).toBe('one');
  expect(await holders.of(nameOf(sampleBlob('nowhere', 1_000)), NEVER)).toBeNull();
});
