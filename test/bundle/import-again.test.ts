import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { importSources } from '../../src/bundle/import-sources.ts';
import { parseBlockHash } from '../../src/core/blob/ids.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { blockOn, HandClock, openCatalog, spooled } from '../catalog/catalog-in-folder.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const BLOBS = ['one', 'two'].map((label) => sampleBlob(label, 100));
const [ONE, TWO] = BLOBS.map(nameOf);

/** An archive whose folder is a cache, and files of blobs that it wants. A minute passes from look to look. */
function scene() {
  const clock = new HandClock();
  const catalog = openCatalog({ backends: ['s3'], localIsCache: true, clock });
  const folder = temporaryFolder();
  for (const { versionHash, bytes } of BLOBS) writeFileSync(join(folder, versionHash), bytes);
  // A look itself takes no time: the next one would rest for as long.
  let steadyMs = 0;
  const minutes = setInterval(() => {
    steadyMs += 61_000;
  }, 20);
  onTestFinished(() => clearInterval(minutes));
  const modules = {
    catalog,
    namer: {
      name: async (_: unknown, bytes: Uint8Array) =>
        BLOBS.find((blob) => Buffer.compare(blob.bytes, bytes) === 0) ?? sampleBlob('of no file', 100),
    },
    spooler: {
      async spool(blob: (typeof BLOBS)[number], facts: object) {
        catalog.recordSpooled([{ ...spooled('any'), ...facts, ...nameOf(blob), sizeBytes: 100 }]);
      },
    },
    boundChain: async () => null,
    openBucket: () => Promise.reject(new Error('No bucket is named.')),
    clock: { ...SYSTEM_CLOCK, wallMs: clock.wallMs, steadyMs: () => steadyMs },
  };
  const importAll = async (...sources: string[]) => {
    clock.ms += 60_000;
    return await importSources(sources.length > 0 ? sources : [folder], modules, () => {}, NEVER);
  };
  const store = (...names: readonly (typeof ONE)[]) => {
    const entries = names.flatMap((name) => (name === undefined ? [] : catalog.find(name.versionHash)));
    catalog.recordProven('s3', entries);
  };
  return { catalog, folder, importAll, store };
}

test('an import that is typed again ends with 1 until the backends hold what it brought before', async () => {
  const { importAll, store } = scene();
  expect(await importAll()).toMatchObject({ exitCode: 1, taken: 2, alreadyHeld: 0, notStored: 2 });
  expect(await importAll()).toMatchObject({ exitCode: 1, taken: 0, alreadyHeld: 2, notStored: 2 });
  store(ONE);
  expect(await importAll()).toMatchObject({ exitCode: 1, alreadyHeld: 2, notStored: 1 });
  store(TWO);
  expect(await importAll()).toMatchObject({ exitCode: 0, alreadyHeld: 2, notStored: 0 });
});

test('a blob that an import brings twice is counted once', async () => {
  const { folder, importAll } = scene();
  expect(await importAll(folder, folder)).toMatchObject({ exitCode: 1, taken: 2, alreadyHeld: 2, notStored: 2 });
});

test('a held blob that no block has goes to no backend, and an import does not wait for one', async () => {
  const { catalog, importAll } = scene();
  const below = { height: 99, hash: parseBlockHash('ab'.repeat(32)) };
  catalog.chain.recordStart(100);
  catalog.chain.recordBlocks([blockOn(below, 'of a block', 'a block')], () => false);
  const medianTimeSeconds = (spooled('of a block').medianTimeSeconds ?? 0) + 86_400;
  const listed = { ...spooled('listed'), medianTimeSeconds, isUnmined: true };
  catalog.recordSpooled(BLOBS.map((blob) => ({ ...listed, ...nameOf(blob) })));
  expect(await importAll()).toMatchObject({ exitCode: 0, alreadyHeld: 2, notStored: 0 });
});
