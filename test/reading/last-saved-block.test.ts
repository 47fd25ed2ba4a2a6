import { expect, test } from 'vitest';
import { parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { LastSavedBlock } from '../../src/reading/last-saved-block.ts';
import { openCatalog, sighting, spooled } from '../catalog/catalog-in-folder.ts';

const START = 100;
const BLOCKS = 80;
const hash = (height: number, branch = 0) => parseBlockHash((height * 16 + branch).toString(16).padStart(64, '0'));

/** A long chain with a blob in each block, and a look for what is saved that may look nothing up in one go. */
function scene() {
  const catalog = openCatalog();
  const clock = { ms: 1_767_225_600_000 };
  const walk = (from: number, to: number, branch = 0) => {
    for (let height = from; height <= to; height += 1) {
      const facts = { hashType: 'keccak256', txid: parseTxId('ab'.repeat(32)), vout: 0, transactionIndex: 0 } as const;
      const occurrences = [{ ...facts, versionHash: sighting(`blob ${height}`).versionHash, makeRecord: () => '{}' }];
      const previousHash = hash(height - 1, height === from ? 0 : branch);
      const block = {
        height,
        hash: hash(height, branch),
        previousHash,
        timeSeconds: height,
        medianTimeSeconds: height,
      };
      catalog.chain.recordBlocks([{ ...block, occurrences, unclear: [] }], () => false);
    }
  };
  const store = (...heights: number[]) => {
    for (const height of heights) {
      catalog.recordSpooled([spooled(`blob ${height}`)]);
      catalog.recordProven('local', catalog.find(sighting(`blob ${height}`).versionHash));
    }
  };
  catalog.chain.recordStart(START);
  walk(START, START + BLOCKS - 1);
  const look = new LastSavedBlock(catalog, { steadyMs: () => clock.ms }, 0);
  const find = (final = START + BLOCKS - 1) => {
    const found = look.find(START, final);
    return found.kind === 'saved' ? found.upTo : found.kind;
  };
  const searched = async (final?: number) => {
    find(final);
    await look.settled();
    return find(final);
  };
  return { catalog, clock, walk, store, look, find, searched };
}

const heights = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

test('a long search runs in steps, and is answered when it ends', async () => {
  const { store, find, look } = scene();
  store(...heights(START, START + 49));
  expect(find()).toBe('searching');
  expect(find()).toBe('searching');
  await look.settled();
  expect(find()).toBe(START + 49);
  // Never above what is final, which a conflict may lower.
  expect(find(START + 20)).toBe(START + 20);
});

test('a found block holds over new blocks, until its time is up and the next search has ended', async () => {
  const { store, searched, find, walk, look, clock, catalog } = scene();
  store(...heights(START, START + 49));
  expect(await searched()).toBe(START + 49);
  walk(START + BLOCKS, START + BLOCKS);
  catalog.recordDamaged('local', { hashType: 'keccak256', versionHash: sighting(`blob ${START + 9}`).versionHash });
  expect(find(START + BLOCKS)).toBe(START + 49);
  clock.ms += 300_000;
  expect(find(START + BLOCKS)).toBe(START + 49);
  await look.settled();
  expect(find(START + BLOCKS)).toBe(START + 8);
});

test('a block that was found long ago is not given for the present one', async () => {
  const { store, searched, find, look, clock, catalog } = scene();
  store(...heights(START, START + 49));
  expect(await searched()).toBe(START + 49);
  catalog.recordDamaged('local', { hashType: 'keccak256', versionHash: sighting(`blob ${START + 9}`).versionHash });
  clock.ms += 3_600_000;
  expect(find()).toBe('searching');
  await look.settled();
  expect(find()).toBe(START + 8);
});

test('a reorganisation of the block that it named voids it', async () => {
  const { store, searched, find, walk, catalog } = scene();
  store(...heights(START, START + 49));
  expect(await searched()).toBe(START + 49);
  catalog.chain.takeBack(START + 39);
  walk(START + 40, START + BLOCKS, 1);
  expect(find()).toBe('searching');
});

test('a range that begins with an open blob, or has none, is decided at once', () => {
  expect(scene().find()).toBe(START - 1);
  const { find, store } = scene();
  store(...heights(START, START + BLOCKS - 1));
  expect(find()).toBe(START + BLOCKS - 1);
});

test('a search ends when the catalog is closed', async () => {
  const { find, look, catalog, store } = scene();
  store(...heights(START, START + 49));
  expect(find()).toBe('searching');
  catalog.close();
  await look.settled();
});
