import { encode } from '@ipld/dag-cbor';
import fc from 'fast-check';
import { varint } from 'multiformats';
import { describe, expect, test } from 'vitest';
import type { ByteStream } from '../../src/bundle/byte-stream.ts';
import { carHeader, nodeBlock, sectionHead } from '../../src/bundle/car-block.ts';
import { looksLikeCar } from '../../src/bundle/car-length.ts';
import { type CarPart, carParts } from '../../src/bundle/car-parts.ts';
import { checkBundle } from '../../src/bundle/check-bundle.ts';
import { decodeManifest, decodePart, type Manifest } from '../../src/bundle/manifest.ts';
import { SeenNames } from '../../src/bundle/seen-names.ts';
import { blobCid } from '../../src/core/blob/cid.ts';
import { HASH_TYPES, parseBlockHash } from '../../src/core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../../src/core/blob/limits.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import {
  digestOfBlock,
  digestText,
  HOLDINGS,
  InventoryTree,
  OCCURRENCE_BYTES,
  spanOf,
} from '../../src/verify/inventory.ts';
import { sampleBlob } from '../sample-blobs.ts';
import { inChunks } from './in-chunks.ts';

async function partsOf(bytes: Uint8Array, chunk = 4_096): Promise<CarPart[]> {
  const parts: CarPart[] = [];
  for await (const part of carParts('c', inChunks(bytes, chunk))) parts.push(part);
  return parts;
}

const MANIFEST: Manifest = {
  format: 'holdfast-bundle',
  version: 1,
  chain: parseBlockHash('ab'.repeat(32)),
  from: 1,
  to: 9,
  blockHash: parseBlockHash('cd'.repeat(32)),
  inventory: 'ef'.repeat(32),
  counts: { missing: 0, stored: 2, lost: 0, withheld: 0, custom: 0, 'not-archived-by-rule': 0 },
  blobs: 2,
  blobBytes: 1_100,
  records: 0,
  parts: [],
};
const ROOT = nodeBlock(MANIFEST);
const BLOBS = [sampleBlob('one', 100), sampleBlob('two', 1_000, 'blake2s256')];
const SECTIONS = [
  [sectionHead(ROOT.cid, ROOT.bytes.length), ROOT.bytes],
  ...BLOBS.map((blob) => [sectionHead(blobCid(blob), blob.bytes.length), blob.bytes]),
];
const CAR = new Uint8Array(Buffer.concat([carHeader(ROOT.cid), ...SECTIONS.flat()]));

describe('reading a CAR', () => {
  test.each([1, 7, 1_000, 1_000_000])('gives the same blocks in chunks of %i bytes', async (chunk) => {
    const parts = await partsOf(CAR, chunk);
    expect(parts.map(({ kind }) => kind)).toEqual(['manifest', 'named', 'named']);
    expect(parts.slice(1)).toMatchObject(
      BLOBS.map(({ hashType, versionHash, bytes }) => ({ name: { hashType, versionHash }, bytes })),
    );
  });

  test('is begun for what begins with the map of a CAR, and for nothing else', () => {
    expect(looksLikeCar(CAR)).toBe(true);
    for (const bytes of [new Uint8Array(), Uint8Array.of(0xff), BLOBS[0]?.bytes ?? CAR])
      expect(looksLikeCar(bytes)).toBe(false);
  });

  test('a block that is said to be vast is refused before any of it is kept', async () => {
    for (const length of [2 ** 31, 2 ** 52]) {
      const head = new Uint8Array(varint.encodingLength(length));
      varint.encodeTo(length, head);
      async function* endless(): ByteStream {
        yield carHeader(ROOT.cid);
        yield head;
        for (let chunk = 0; chunk < 2_000; chunk += 1) yield new Uint8Array(65_536);
        throw new Error('it was read on');
      }
      const parts: CarPart[] = [];
      for await (const part of carParts('c', endless())) parts.push(part);
      expect(parts).toMatchObject([{ kind: 'unusable' }]);
    }
  });

  test('a blob that is larger than any can be is refused, and the next block is taken', async () => {
    const [one] = BLOBS;
    if (one === undefined) throw new Error('no blob');
    const huge = new Uint8Array(MAX_BLOB_BYTES + 1);
    const bytes = Buffer.concat([
      carHeader(ROOT.cid),
      sectionHead(blobCid(one), huge.length),
      huge,
      sectionHead(blobCid(one), one.bytes.length),
      one.bytes,
    ]);
    expect((await partsOf(new Uint8Array(bytes))).map(({ kind }) => kind)).toEqual(['unusable', 'named']);
  });

  test('any bytes at all are read to their end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), async (bytes) => {
        for (const part of await partsOf(bytes)) expect(part.kind).toBe('unusable');
        await partsOf(new Uint8Array([...carHeader(ROOT.cid), ...bytes]));
      }),
      { numRuns: 500 },
    );
  });
});

describe('a bundle that says that blobs are stored', () => {
  const blockHash = new Uint8Array(32).fill(7);
  const packed = (...blobs: readonly (typeof BLOBS)[number][]) =>
    Buffer.concat(
      blobs.map(({ hashType, versionHash }) => {
        const one = new Uint8Array(OCCURRENCE_BYTES);
        one.set(Buffer.from(versionHash, 'hex'), 37);
        one[36] = HASH_TYPES.indexOf(hashType) + 1;
        one[OCCURRENCE_BYTES - 1] = HOLDINGS.indexOf('stored');
        return one;
      }),
    );
  const checked = async (perBlock: readonly (readonly (typeof BLOBS)[number][])[], given: typeof BLOBS) => {
    const tree = new InventoryTree(nobleHasher);
    const blocks = perBlock.map((blobs, index) => ({
      height: index + 1,
      blockHash,
      occurrences: new Uint8Array(packed(...blobs)),
    }));
    for (const block of blocks) tree.add({ level: 0, index: block.height }, digestOfBlock(nobleHasher, block));
    const parts = blocks.map(({ height, occurrences }, index) =>
      nodeBlock({
        blocks: [[height, blockHash, occurrences]],
        blobs: index === 0 ? given.map(blobCid) : [],
        records: [],
      }),
    );
    const root = nodeBlock({
      ...MANIFEST,
      inventory: digestText(tree.root(spanOf(1, 9))),
      counts: { ...MANIFEST.counts, stored: perBlock.flat().length },
      blobs: given.length,
      blobBytes: given.reduce((sum, { bytes }) => sum + bytes.length, 0),
      parts: parts.map(({ cid }) => cid),
    });
    const [first, ...others] = parts.map(({ cid, bytes }) => [sectionHead(cid, bytes.length), bytes]);
    const blobs = given.map((blob) => [sectionHead(blobCid(blob), blob.bytes.length), blob.bytes]);
    const sections = [[sectionHead(root.cid, root.bytes.length), root.bytes], first ?? [], ...blobs, ...others];
    const bytes = new Uint8Array(Buffer.concat([carHeader(root.cid), ...sections.flat()]));
    return (await checkBundle('c', inChunks(bytes, 4_096), nobleHasher)).wrong.map(({ why }) => why);
  };

  test('has each of them once, at its first occurrence', async () => {
    expect(await checked([BLOBS, BLOBS], BLOBS)).toEqual([]);
  });

  test('a bundle that leaves one out is not whole, though it has all that it lists', async () => {
    expect(await checked([BLOBS, BLOBS], BLOBS.slice(1))).toEqual([
      expect.stringContaining('has the stored blob'),
      expect.stringContaining('has the stored blob'),
    ]);
    expect(await checked([BLOBS], [])).toHaveLength(2);
  });

  test('the names that were seen are told from others, however many they are', () => {
    const seen = new SeenNames();
    for (let index = 0; index < 10_000; index += 1) seen.add(`name ${index}`);
    for (let index = 0; index < 10_000; index += 1)
      expect([seen.has(`name ${index}`), seen.has(`other ${index}`)]).toEqual([true, false]);
  });
});

describe('the nodes of a bundle', () => {
  test('a manifest comes back as it was written', () => {
    expect(decodeManifest(ROOT.bytes)).toEqual(MANIFEST);
  });

  test.each([
    ['another format', { format: 'other' }],
    ['a later version', { version: 2 }],
    ['a height below none', { from: -1 }],
    ['a field that no manifest has', { more: 1 }],
    ['a digest of another length', { inventory: 'ab' }],
    ['a part that is no link', { parts: ['ab'] }],
  ])('one with %s is none', (_, change) => {
    expect(decodeManifest(encode({ ...MANIFEST, ...change }))).toBeNull();
  });

  test('any value is a manifest or a part, or neither, and never an error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.jsonValue(), (bytes, value) => {
        for (const encoded of [bytes, encode(value)]) {
          expect(decodeManifest(encoded)).toBeNull();
          expect(decodePart(encoded)).toBeNull();
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
