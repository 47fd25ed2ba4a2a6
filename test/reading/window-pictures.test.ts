import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type ContentName, parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { WindowPictures } from '../../src/reading/window-pictures.ts';
import { type CatalogSetup, openCatalog, sighting, spooled } from '../catalog/catalog-in-folder.ts';

const sha = (text: string) => createHash('sha256').update(text).digest('hex');
const hashAt = (height: number) => parseBlockHash(sha(`block ${height}`));
const nameOf = (label: string): ContentName => {
  const { hashType, versionHash } = spooled(label);
  return { hashType, versionHash };
};
const START = 100;
const BLOCK_SECONDS = 150;
const GENESIS_SECONDS = 1_767_000_000;

function scene(setup: CatalogSetup = {}) {
  const catalog = openCatalog(setup);
  catalog.chain.recordStart(START);
  const chain = { finalHeight: null as number | null };
  const clock = { ms: 1_767_225_600_000 };
  const pictures = new WindowPictures(catalog, chain, () => clock.ms);
  let height = START - 1;
  /** The next block, with these contents in it. */
  function mine(...labels: string[]): void {
    height += 1;
    const time = GENESIS_SECONDS + height * BLOCK_SECONDS;
    const occurrences = labels.map((label, transactionIndex) => ({
      ...nameOf(label),
      transactionIndex,
      txid: parseTxId(sha(`${label} in ${height} at ${transactionIndex}`)),
      vout: 0,
      makeRecord: () => '{}',
    }));
    const block = { height, hash: hashAt(height), previousHash: hashAt(height - 1), timeSeconds: time };
    catalog.chain.recordBlocks([{ ...block, medianTimeSeconds: time, occurrences, unclear: [] }], () => false);
  }
  function spool(...labels: string[]): void {
    catalog.recordSpooled(labels.map((label) => spooled(label)));
  }
  function prove(backend: string, ...labels: string[]): void {
    catalog.recordProven(
      backend,
      labels.flatMap((label) => catalog.find(nameOf(label).versionHash)),
    );
  }
  const states = () => pictures.picture().blocks.map(({ blobs }) => blobs.map(({ state }) => state));
  return { catalog, chain, clock, pictures, mine, spool, prove, states };
}

describe('the picture of the window', () => {
  test('has a column for each block, and says of each blob what is proven', () => {
    const { pictures, mine, spool, prove, states, chain } = scene();
    mine('a', 'b');
    mine('c');
    expect(states()).toEqual([['seen', 'seen'], ['seen']]);
    spool('a', 'c');
    prove('local', 'a');
    chain.finalHeight = START;
    const { blocks, tip } = pictures.picture();
    expect(states()).toEqual([['stored', 'seen'], ['spooled']]);
    expect(blocks.map(({ height, isFinal }) => [height, isFinal])).toEqual([
      [START, true],
      [START + 1, false],
    ]);
    expect(tip).toEqual({ height: START + 1, medianTimeSeconds: GENESIS_SECONDS + (START + 1) * BLOCK_SECONDS });
    expect(blocks[0]?.blobs.map(({ copies, sizeBytes }) => [copies, sizeBytes])).toEqual([
      [1, 100],
      [0, null],
    ]);
  });

  test('a blob is at risk when half its window is over without its bytes, and safe once they are here', () => {
    const { pictures, mine, spool, states } = scene();
    mine('late', 'here');
    spool('here');
    for (let block = 0; block < 71; block += 1) mine();
    expect(pictures.picture().atRisk).toBe(0);
    expect(states()[0]).toEqual(['seen', 'spooled']);
    mine();
    expect(pictures.picture().atRisk).toBe(1);
    expect(states()[0]).toEqual(['at-risk', 'spooled']);
    spool('late');
    expect(pictures.picture().atRisk).toBe(0);
    expect(states()[0]).toEqual(['spooled', 'spooled']);
  });

  test('a newer occurrence gives a blob more time, in each column that it stands in', () => {
    const { mine, states } = scene();
    mine('again');
    for (let block = 0; block < 100; block += 1) mine();
    expect(states()[0]).toEqual(['at-risk']);
    mine('again');
    expect([states().at(0), states().at(-1)]).toEqual([['seen'], ['seen']]);
  });

  test('lost content is shown as lost until it turns up again', () => {
    const { catalog, mine, spool, states } = scene();
    mine('gone');
    const loss = { ...nameOf('gone'), upToHeight: START, deadlineSeconds: 0, answers: [] };
    catalog.losses.record([loss]);
    expect(states()).toEqual([['lost']]);
    spool('gone');
    expect(states()).toEqual([['spooled']]);
  });

  test('content whose bytes match neither hash is shown as custom until the right bytes are here', () => {
    const { catalog, mine, spool, states } = scene();
    mine('odd');
    catalog.custom.record(
      { versionHash: nameOf('odd').versionHash, keccak: nameOf('its bytes').versionHash },
      9,
      'local',
    );
    expect(states()).toEqual([['custom']]);
    spool('odd');
    expect(states()).toEqual([['spooled']]);
  });

  test('withheld content is shown as withheld, and is not at risk however long it is absent', () => {
    const { catalog, pictures, mine, spool, states } = scene();
    mine('down', 'other');
    spool('other');
    const entry = { ...nameOf('down'), archiver: 'me', publicReason: null, reason: 'ordered', atMs: 1, purge: false };
    catalog.withheld.record([entry], false);
    for (let block = 0; block < 100; block += 1) mine();
    expect([states()[0], pictures.picture().atRisk]).toEqual([['withheld', 'spooled'], 0]);
    catalog.withheld.revoke([entry], false, 2);
    expect(states()[0]).toEqual(['at-risk', 'spooled']);
  });

  test('each backend is counted once for a content of a block, however often it is in there', () => {
    const { pictures, mine, spool, prove } = scene({ backends: ['local', 's3'] });
    spool('a', 'b');
    mine('a', 'a', 'b');
    mine('a');
    prove('local', 'a', 'b');
    prove('s3', 'a');
    const { backends, blocks } = pictures.picture();
    expect(backends.toSorted((x, y) => (x.backend < y.backend ? -1 : 1))).toEqual([
      { backend: 'local', counts: true, good: 3, wanted: 0, damaged: 0 },
      { backend: 's3', counts: true, good: 2, wanted: 1, damaged: 0 },
    ]);
    expect(blocks.map(({ blobs }) => blobs.map(({ copies }) => copies))).toEqual([[2, 2, 1], [2]]);
  });

  test('a listed blob that is in no block stands apart', () => {
    const { catalog, pictures, mine, prove } = scene();
    mine('a');
    const time = GENESIS_SECONDS + START * BLOCK_SECONDS;
    catalog.noteListed([sighting('listed', { medianTimeSeconds: time })]);
    catalog.recordSpooled([spooled('here', 'keccak256', { medianTimeSeconds: time })]);
    const waiting = () =>
      pictures.picture().waiting.blobs.map(({ state, hashType, copies }) => [state, hashType, copies]);
    expect(waiting()).toEqual([
      ['seen', null, 0],
      ['spooled', 'keccak256', 0],
    ]);
    prove('local', 'here');
    expect(waiting()[1]).toEqual(['stored', 'keccak256', 1]);
  });

  test('a block with more than can be drawn says so', () => {
    const { pictures, mine } = scene();
    mine(...Array.from({ length: 70 }, (_, index) => `blob ${index}`));
    const [block] = pictures.picture().blocks;
    expect([block?.blobs.length, block?.hasMore]).toEqual([64, true]);
  });

  test('blocks behind the window go after a while, and those that are too many are counted', () => {
    const { catalog, pictures, mine } = scene();
    for (let block = 0; block < 200; block += 1) mine();
    const { blocks, blocksNotDrawn } = pictures.picture();
    // Six hours and a half of blocks, and the tip's own.
    expect([blocks.length, blocksNotDrawn]).toEqual([157, 0]);
    catalog.chain.takeBack(START);
    const time = GENESIS_SECONDS + START * BLOCK_SECONDS;
    const quick = Array.from({ length: 400 }, (_, index) => START + 1 + index).map((height) => ({
      height,
      hash: hashAt(height),
      previousHash: hashAt(height - 1),
      timeSeconds: time + height,
      medianTimeSeconds: time + height,
      occurrences: [],
      unclear: [],
    }));
    catalog.chain.recordBlocks(quick, () => false);
    const fast = pictures.picture();
    expect([fast.blocks.length, fast.blocksNotDrawn]).toEqual([320, 81]);
  });

  test('at a look only some blocks are read again, and after some looks all of them have been', () => {
    const { clock, mine, spool, states, pictures } = scene();
    for (let block = 0; block < 100; block += 1) mine(`blob ${block}`);
    const spooledNow = () => {
      clock.ms += 1_000;
      return states().filter(([state]) => state === 'spooled').length;
    };
    expect(spooledNow()).toBe(0);
    spool(...Array.from({ length: 100 }, (_, block) => `blob ${block}`));
    expect(spooledNow()).toBe(24);
    // The newest are among them at every look.
    expect(states().slice(-6)).toEqual(Array.from({ length: 6 }, () => ['spooled']));
    expect(Array.from({ length: 4 }, spooledNow).at(-1)).toBe(100);
    expect(pictures.picture()).toBe(pictures.picture());
  });

  test('a viewer after a pause gets no rows that were read before', () => {
    const { clock, mine, spool, states } = scene();
    for (let block = 0; block < 100; block += 1) mine(`blob ${block}`);
    expect(states().flat()).not.toContain('spooled');
    spool(...Array.from({ length: 100 }, (_, block) => `blob ${block}`));
    clock.ms += 60_000;
    expect(
      states()
        .flat()
        .filter((state) => state === 'spooled').length,
    ).toBe(100);
  });

  test('a block is drawn again only when a row was written or it became final', () => {
    const { chain, pictures, mine, spool } = scene();
    mine('a');
    const first = pictures.picture();
    expect(pictures.picture()).toBe(first);
    spool('a');
    const second = pictures.picture();
    expect(second).not.toBe(first);
    chain.finalHeight = START;
    expect(pictures.picture()).not.toBe(second);
  });
});
