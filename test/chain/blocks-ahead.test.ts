import { describe, expect, test } from 'vitest';
import { blocksAhead } from '../../src/chain/blocks-ahead.ts';
import { HoldfastError } from '../../src/core/blob/errors.ts';
import { type BlockHash, parseBlockHash } from '../../src/core/blob/ids.ts';
import { FakeBlobNode } from '../app/fake-blob-node.ts';

const hash = (height: number) => parseBlockHash(height.toString(16).padStart(64, '0'));
const heightOf = (name: BlockHash) => Number.parseInt(name, 16);
const { signal } = new AbortController();

class Blocks extends FakeBlobNode {
  tipHeight = 1_000;
  blockBytes = 100;
  /** Heights of each request for blocks, in order. */
  readonly questions: number[][] = [];
  refuses: (height: number) => Error | null = () => null;

  override async blockHashAt(height: number): Promise<BlockHash | null> {
    return height > this.tipHeight ? null : hash(height);
  }

  override async rawBlock(name: BlockHash): Promise<Uint8Array> {
    this.questions.push([heightOf(name)]);
    return this.#bytesOf(name);
  }

  override async rawBlocks(names: readonly BlockHash[]): Promise<Uint8Array[]> {
    this.questions.push(names.map(heightOf));
    return names.map((name) => this.#bytesOf(name));
  }

  #bytesOf(name: BlockHash): Uint8Array {
    const refusal = this.refuses(heightOf(name));
    if (refusal !== null) throw refusal;
    return new Uint8Array(this.blockBytes).fill(heightOf(name) % 256);
  }
}

async function read(node: Blocks, first: number, last: number, known = { height: last, hash: hash(last) }) {
  const heights: number[] = [];
  for await (const { height, hash: name, bytes } of blocksAhead(first, last, known, node, signal)) {
    expect(name).toBe(hash(height));
    expect(bytes[0]).toBe(height % 256);
    heights.push(height);
  }
  return heights;
}

const from = (first: number, count: number, step = 1) =>
  Array.from({ length: count }, (_, index) => first + index * step);

describe('blocks ahead', () => {
  test('blocks come in order, upwards and downwards, each requested once, in growing requests', async () => {
    for (const [first, last] of [
      [10, 209],
      [209, 10],
    ] as const) {
      const node = new Blocks();
      const heights = from(first, 200, first < last ? 1 : -1);
      expect(await read(node, first, last)).toEqual(heights);
      expect(node.questions.flat()).toEqual(heights);
      const sizes = node.questions.map(({ length }) => length);
      expect(sizes[0]).toBe(1);
      expect(Math.max(...sizes)).toBe(32);
      expect(sizes).toEqual([...sizes.slice(0, -1).toSorted((a, b) => a - b), sizes.at(-1)]);
    }
  });

  test('large blocks come one by one and stay in memory until they are read', async () => {
    const node = new Blocks();
    node.blockBytes = 200_000;
    await read(node, 1, 20);
    expect(node.questions.every(({ length }) => length === 1)).toBe(true);
  });

  test('at most four requests are in progress, however slow the consumer is', async () => {
    const node = new Blocks();
    const blocks = blocksAhead(1, 500, { height: 500, hash: hash(500) }, node, signal);
    const { value } = await blocks.next();
    expect(value).toMatchObject({ height: 1 });
    await new Promise(setImmediate);
    expect(node.questions).toHaveLength(5);
    await blocks.return(undefined);
  });

  test('the blocks end where the branch ends', async () => {
    const node = new Blocks();
    node.tipHeight = 100;
    expect(await read(node, 1, 500)).toEqual(from(1, 100));
  });

  test('blocks of a failed request are requested alone, and a failure is thrown in its turn', async () => {
    const node = new Blocks();
    const pruned = new HoldfastError('node/rpc-error', 'Block not available (pruned data)', {
      retryable: false,
      hint: '',
    });
    node.refuses = (height) => (height === 77 ? pruned : null);
    const heights: number[] = [];
    const reading = async () => {
      const known = { height: 100, hash: hash(100) };
      for await (const { height } of blocksAhead(1, 100, known, node, signal)) heights.push(height);
    };
    await expect(reading()).rejects.toMatchObject({ code: 'chain/pruned-block', details: { height: 77 } });
    expect(heights).toEqual(from(1, 76));
  });
});
