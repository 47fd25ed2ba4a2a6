import { expect, test } from 'vitest';
import { bytesSources } from '../../../src/archive/chain/archive-sources.ts';
import { Site } from '../../../src/archive/replicate/site.ts';
import { parseVersionHash } from '../../../src/blob/ids.ts';
import { MemoryBackend } from '../replicate/memory-backend.ts';

const NEVER = new AbortController().signal;
const NAME = { hashType: 'keccak256', versionHash: parseVersionHash('ab'.repeat(32)) } as const;

test('a backend that gave wrong bytes is asked again over a connection of its own', async () => {
  const [kept, opened] = [new MemoryBackend('b'), new MemoryBackend('b')];
  const backend = { id: 'b', place: 'memory b', store: kept, openAgain: async () => opened };
  const site = new Site(backend, { verify: async () => null }, () => 0);
  site.isAdmitted = true;
  const [, source] = bytesSources({ id: 'local', get: async () => null }, [site]);
  expect(await source?.find(NAME, NEVER, false)).toBeNull();
  expect([kept.asked.length, opened.asked.length]).toEqual([1, 0]);
  expect(await source?.find(NAME, NEVER, true)).toBeNull();
  expect([kept.asked.length, opened.asked.length]).toEqual([1, 1]);
});
