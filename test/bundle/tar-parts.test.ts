import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { Header, type HeaderData } from 'tar';
import { describe, expect, test } from 'vitest';
import { BODY_LIMIT_BYTES } from '../../src/backfill/source/candidates.ts';
import { type Part, shownPath } from '../../src/bundle/part.ts';
import { streamParts } from '../../src/bundle/stream-parts.ts';
import { sampleBytes } from '../sample-blobs.ts';
import { inChunks } from './in-chunks.ts';

type Entry = Omit<HeaderData, 'size'> & { readonly bytes?: Uint8Array; readonly says?: number };

const BLOCK = 512;

function tarball(...entries: readonly Entry[]): Uint8Array {
  const blocks = entries.flatMap(({ bytes = new Uint8Array(), says = bytes.length, ...data }) => {
    const header = new Header({ mode: 0o644, mtime: new Date(0), type: 'File', ...data, size: says });
    header.encode();
    const body = new Uint8Array(Math.ceil(bytes.length / BLOCK) * BLOCK);
    body.set(bytes);
    return [new Uint8Array(header.block ?? new Uint8Array(BLOCK)), body];
  });
  return new Uint8Array(Buffer.concat([...blocks, new Uint8Array(2 * BLOCK)]));
}

async function partsOf(bytes: Uint8Array, chunk = 10_000, isKnown = async () => false): Promise<Part[]> {
  const parts: Part[] = [];
  for await (const part of streamParts('t', inChunks(bytes, chunk), { isKnown, refusal: () => null })) parts.push(part);
  return parts;
}

const ONE = sampleBytes('one', 700);
const TWO = sampleBytes('two', 70_000);

describe('a tarball', () => {
  test.each([1, 511, 512, 513, 1_000_000])('gives the same files in chunks of %i bytes', async (chunk) => {
    const bytes = tarball({ path: 'one', bytes: ONE }, { path: 'two', bytes: TWO });
    expect(await partsOf(bytes, chunk)).toEqual([
      { kind: 'bytes', path: 't: one', bytes: ONE },
      { kind: 'bytes', path: 't: two', bytes: TWO },
    ]);
  });

  test('names that lead elsewhere are words: nothing is opened or written by them', async () => {
    const names = ['../../../../etc/passwd', '/etc/passwd', 'a/../../b', '..', 'C:\\x'];
    const parts = await partsOf(tarball(...names.map((path) => ({ path, bytes: ONE }))));
    expect(parts.map(({ kind }) => kind)).toEqual(names.map(() => 'bytes'));
  });

  test.each(['Link', 'SymbolicLink', 'CharacterDevice', 'BlockDevice', 'FIFO', 'SparseFile'] as const)(
    'a %s is named and passed over, and what follows is taken',
    async (type) => {
      const parts = await partsOf(
        tarball(
          { path: 'odd', type, ...(type.endsWith('Link') ? { linkpath: '/etc/passwd' } : {}) },
          { path: 'one', bytes: ONE },
        ),
      );
      expect(parts).toMatchObject([
        { kind: 'unusable', path: 't: odd' },
        { kind: 'bytes', bytes: ONE },
      ]);
    },
  );

  test('no byte is kept of a file that is longer than any blob, and what follows is taken', async () => {
    const long = new Uint8Array(BODY_LIMIT_BYTES + 1);
    const parts = await partsOf(tarball({ path: 'long', bytes: long }, { path: 'one', bytes: ONE }));
    expect(parts).toMatchObject([
      { kind: 'unusable', path: 't: long' },
      { kind: 'bytes', bytes: ONE },
    ]);
  });

  test('one that says it holds terabytes and ends is named, and takes no memory', async () => {
    const parts = await partsOf(tarball({ path: 'vast', says: 2 ** 42 }));
    expect(parts.map(({ kind }) => kind)).toEqual(['unusable', 'unusable']);
    const cut = await partsOf(tarball({ path: 'cut', says: 4_000_000 }));
    expect(cut).toMatchObject([{ kind: 'unusable' }]);
  });

  test('damage is told once, however much garbage there is', async () => {
    const bytes = tarball({ path: 'one', bytes: ONE });
    const parts = await partsOf(new Uint8Array([...bytes.subarray(0, 1_536), ...sampleBytes('garbage', 100_000)]));
    expect(parts).toMatchObject([{ kind: 'bytes', bytes: ONE }, { kind: 'unusable' }]);
  });

  test('packed with gzip it gives the same, packed twice it is refused', async () => {
    const packed = gzipSync(tarball({ path: 'one', bytes: ONE }));
    expect(await partsOf(packed)).toMatchObject([{ kind: 'bytes', path: 't: one', bytes: ONE }]);
    expect(await partsOf(gzipSync(packed))).toMatchObject([{ kind: 'unusable' }]);
    expect(await partsOf(packed.subarray(0, packed.length - 12))).toMatchObject([{ kind: 'unusable' }]);
  });

  test('a bomb of gzip unpacks through a bounded memory', async () => {
    const zeros = new Uint8Array(10_000_000);
    const head = tarball({ path: 'zeros', says: 25 * zeros.length }).subarray(0, BLOCK);
    const bomb = Buffer.concat([gzipSync(head), ...Array<Buffer>(25).fill(gzipSync(zeros))]);
    const before = process.memoryUsage().rss;
    expect(await partsOf(bomb)).toMatchObject([{ kind: 'unusable', path: 't: zeros' }, { kind: 'unusable' }]);
    // Garbage of this test and of those before comes to tens of megabytes; the bomb is 250.
    expect(process.memoryUsage().rss - before).toBeLessThan(125_000_000);
  });

  test('a blob that looks like a tarball is that blob when its hash is known', async () => {
    const bytes = tarball({ path: 'one', bytes: ONE });
    expect(await partsOf(bytes, 10_000, async () => true)).toEqual([{ kind: 'bytes', path: 't', bytes }]);
  });

  test('a changed tarball is read to its end, and no part is longer than a blob can be', async () => {
    // Short files: a change then meets a header as often as bytes.
    const bytes = tarball(...['one', 'two', 'three'].map((path) => ({ path, bytes: ONE })));
    const change = fc.tuple(fc.nat(bytes.length - 1), fc.integer({ min: 0, max: 255 }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { maxLength: 40 }),
        fc.integer({ min: 1, max: 5_000 }),
        async (changes, chunk) => {
          const changed = bytes.slice();
          for (const [at, value] of changes) changed[at] = value;
          for (const part of await partsOf(changed, chunk)) {
            if (part.kind === 'bytes') expect(part.bytes.length).toBeLessThanOrEqual(BODY_LIMIT_BYTES);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

test('a path is shown without what could move a cursor or hide a line', () => {
  expect(shownPath('a\u001b[2Jb\nc\u202ed')).toBe('a�[2Jb�c�d');
  expect(shownPath('x'.repeat(1_000)).length).toBe(201);
});
