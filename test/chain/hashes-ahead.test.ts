import { expect, test } from 'vitest';
import { HashesAhead } from '../../src/chain/hashes-ahead.ts';
import { type BlockHash, parseBlockHash } from '../../src/core/blob/ids.ts';
import { FakeBlobNode } from '../app/fake-blob-node.ts';

const hash = (height: number) => parseBlockHash(height.toString(16).padStart(64, '0'));
const { signal } = new AbortController();

class Counting extends FakeBlobNode {
  readonly asked: [first: number, count: number][] = [];
  tipHeight = 1_000;

  override async blockHashAt(height: number): Promise<BlockHash | null> {
    return height > this.tipHeight ? null : hash(height);
  }

  override async blockHashesFrom(first: number, count: number) {
    this.asked.push([first, count]);
    return await super.blockHashesFrom(first, count);
  }
}

test('hashes come in large requests, upwards to the end', async () => {
  const node = new Counting();
  const hashes = new HashesAhead(137, node, signal);
  for (let height = 10; height <= 137; height += 1) expect(await hashes.at(height)).toBe(hash(height));
  expect(node.asked).toEqual([
    [10, 64],
    [74, 64],
  ]);
});

test('hashes come in large requests downwards too', async () => {
  const node = new Counting();
  const hashes = new HashesAhead(5, node, signal);
  for (let height = 72; height >= 5; height -= 1) expect(await hashes.at(height)).toBe(hash(height));
  expect(node.asked).toEqual([
    [9, 64],
    [5, 4],
  ]);
});

test('a shorter branch has no hash, and a failed request rejects', async () => {
  const node = new Counting();
  node.tipHeight = 12;
  const hashes = new HashesAhead(20, node, signal);
  expect([await hashes.at(12), await hashes.at(13)]).toEqual([hash(12), null]);
  node.blockHashesFrom = async () => {
    throw new Error('The node is away.');
  };
  const failing = new HashesAhead(20, node, signal);
  await expect(failing.at(10)).rejects.toThrow('away');
});
