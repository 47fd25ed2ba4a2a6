import { expect, test } from 'vitest';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import { bytesSources } from '../../src/replication/archive-sources.ts';
import { BackendHandle } from '../../src/replication/backend-handle.ts';
import { MemoryBackend } from '../replication/memory-backend.ts';

const NEVER = new AbortController().signal;
const NAME = { hashType: 'keccak256', versionHash: parseVersionHash('ab'.repeat(32)) } as const;

test('a backend that gave wrong bytes is asked again over a connection of its own', async () => {
  const [kept, opened] = [new MemoryBackend('b'), new MemoryBackend('b')];
  const backend = { id: 'b', place: 'memory b', store: kept, openAgain: async () => opened };
  const site = new BackendHandle(backend, { verify: async () => null }, { steadyMs: () => 0 });
  site.isAdmitted = true;
  const [, source] = bytesSources({ id: 'local', get: async () => null }, [site]);
  expect(await source?.find(NAME, NEVER, false)).toBeNull();
  expect([kept.asked.length, opened.asked.length]).toEqual([1, 0]);
  expect(await source?.find(NAME, NEVER, true)).toBeNull();
  expect([kept.asked.length, opened.asked.length]).toEqual([1, 1]);
});
