import { expect, test } from 'vitest';
import { encodeHex } from '../../src/core/blob/hex.ts';
import { parseBlock, parseBlockHex } from '../../src/verify/block.ts';
import { checkWitnesses } from '../../src/verify/witness-commitment.ts';
import { craftBlock, craftTransaction, merkleRootOf } from './craft.ts';
import { blocks } from './recorded-chain.ts';

const refused = expect.objectContaining({ code: 'verify/witness-commitment' });

test('the witnesses of every recorded block are those that its coinbase commits to', () => {
  let checked = 0;
  for (const { hex } of blocks) {
    const block = parseBlockHex(hex);
    if (!block.transactions.slice(1).some(({ hasWitness }) => hasWitness)) continue;
    checkWitnesses(block);
    checked += 1;
  }
  expect(checked).toBeGreaterThan(5);
});

test('one byte of one witness less is another block, though its Merkle root is right', () => {
  const hex = blocks.map(({ hex: one }) => one).find((one) => hasBlobWitness(one)) ?? '';
  const honest = parseBlockHex(hex);
  const signed = honest.transactions.slice(1).find(({ hasWitness }) => hasWitness);
  const [signature] = signed?.firstWitness() ?? [];
  expect(signature?.length).toBeGreaterThan(60);
  const before = encodeHex(signature ?? new Uint8Array());
  const changed = parseBlockHex(hex.replace(before, `${before.slice(0, -2)}${before.endsWith('02') ? '03' : '02'}`));
  expect(changed.merkleTree().root).toEqual(honest.merkleTree().root);
  expect(() => checkWitnesses(changed)).toThrow(refused);
});

test('witnesses under a coinbase that commits to none are refused', () => {
  const parts = [{ sequence: 1 }, { sequence: 2, scripts: [Buffer.of(0x51)] }];
  const plain = parts.map((part) => craftTransaction(part));
  const merkleRoot = merkleRootOf(plain);
  const withWitness = parts.map((part) => craftTransaction({ ...part, witness: [Buffer.alloc(32, 1)] }));
  const block = parseBlock(craftBlock(withWitness, { merkleRoot }));
  expect(encodeHex(block.merkleTree().root)).toBe(merkleRoot.toString('hex'));
  expect(() => checkWitnesses(block)).toThrow(refused);
});

function hasBlobWitness(hex: string): boolean {
  return parseBlockHex(hex)
    .transactions.slice(1)
    .some(({ hasWitness }) => hasWitness);
}
