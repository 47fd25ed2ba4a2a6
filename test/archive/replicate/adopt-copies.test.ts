import { expect, test } from 'vitest';
import { adoptCopies, adoptUnread, type Listed } from '../../../src/archive/replicate/adopt-copies.ts';
import { Site } from '../../../src/archive/replicate/site.ts';
import { fault } from '../../../src/storage/probe.ts';
import { nobleHasher } from '../../../src/verify/hasher.ts';
import { verifyBlob } from '../../../src/verify/verified-blob.ts';
import { openCatalog } from '../../catalog/catalog-in-folder.ts';
import { NEVER, sampleBlob } from '../../sample-blobs.ts';
import { keyOf, MemoryBackend, refusal } from './memory-backend.ts';

const BLOBS = Array.from({ length: 40 }, (_, index) => sampleBlob(`adopted ${index}`, 50 + index));

function scene() {
  const backend = new MemoryBackend('s3');
  for (const blob of BLOBS) backend.blobs.set(keyOf(blob), blob.bytes);
  const catalog = openCatalog({ backends: ['local', 's3'] });
  const verifier = {
    verify: async (candidate: Parameters<typeof verifyBlob>[0]) => verifyBlob(candidate, nobleHasher),
  };
  const site = new Site(backend, verifier, () => 0);
  const unread = new Map<string, Listed>();
  const modules = { catalog, nowMs: () => 1, progress: () => {} };
  return {
    backend,
    catalog,
    unread,
    adopt: () => adoptCopies(site, unread, modules, NEVER),
    again: () => adoptUnread(site, unread, modules, NEVER),
    gets: () => backend.asked.splice(0).filter((asked) => asked.startsWith('get')),
  };
}

test('it goes on past objects that are not given, and retries them alone', async () => {
  const { backend, catalog, unread, adopt, again, gets } = scene();
  // More in a row than make a breaker open.
  const faulty = new Set(BLOBS.slice(3, 30).map(keyOf));
  backend.before = (operation, name) => {
    if (operation === 'get' && name !== null && faulty.has(keyOf(name))) throw refusal('s3', 'storage/archived');
  };
  expect(await adopt()).toEqual({ adopted: 13, damaged: 0, unread: 27 });
  expect(catalog.totals().stored).toBe(13);
  expect([...unread.keys()].toSorted()).toEqual([...faulty].toSorted());
  gets();
  faulty.clear();
  faulty.add(keyOf(BLOBS[5] ?? sampleBlob('', 0)));
  expect(await again()).toEqual({ adopted: 26, damaged: 0, unread: 1 });
  expect(gets()).toHaveLength(27);
  faulty.clear();
  expect(await again()).toMatchObject({ adopted: 1, unread: 0 });
  expect(catalog.totals().stored).toBe(40);
});

test('a backend that is away ends it; what was read is kept, and what was not given is not asked for first', async () => {
  const { backend, catalog, unread, adopt, gets } = scene();
  let left = 20;
  backend.before = (operation) => {
    if (operation !== 'get') return;
    left -= 1;
    if (left < 0) throw refusal('s3');
  };
  backend.findings = [fault('reachable', 'It is away.', 'Wait.')];
  await expect(adopt()).rejects.toMatchObject({ code: 'storage/unreachable' });
  expect(catalog.totals().stored).toBe(20);
  const missed = unread.size;
  expect(missed).toBeGreaterThanOrEqual(8);
  backend.before = () => {};
  gets();
  expect(await adopt()).toMatchObject({ adopted: 20 - missed, unread: missed });
  expect(gets()).toHaveLength(20 - missed);
});
