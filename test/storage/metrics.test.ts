import { expect, test } from 'vitest';
import { watchedStore } from '../../src/storage/metrics.ts';
import type { VerifiedBlob } from '../../src/verify/verified-blob.ts';
import { MemoryBackend } from '../replication/memory-backend.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';

test('a put that does not look first is counted as a put, and a purge as a deletion', async () => {
  const told: string[] = [];
  const plain = new MemoryBackend('ipfs');
  const backend = Object.assign(plain, {
    putUnseen: (blob: VerifiedBlob, signal: AbortSignal) => plain.put(blob, signal),
    purge: async () => true,
  });
  const store = watchedStore(backend, {
    asked: (id, operation) => told.push(`${id} asked ${operation}`),
    failed: (id, operation, code) => told.push(`${id} failed ${operation} ${code}`),
    moved: (id, direction, bytes) => told.push(`${id} ${direction} ${bytes}`),
  });
  const blob = sampleBlob('counted', 100);
  await store.putUnseen(blob, NEVER);
  await store.purge();
  backend.before = () => {
    throw new TypeError('away');
  };
  await expect(store.putUnseen(blob, NEVER)).rejects.toThrow('away');
  expect(told).toEqual([
    'ipfs asked put',
    'ipfs sent 100',
    'ipfs asked delete',
    'ipfs asked put',
    'ipfs failed put unexpected',
  ]);
  expect(plain.blobs.size).toBe(1);
});
