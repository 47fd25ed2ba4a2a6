/**
 * Measures what walking a raw block costs: `node test/bench/parse-block.ts`. `limit` is the least that anybody must do who trusts
 * nothing: decode the hex, and run the same bytes twice through Node's own SHA-256. Measured on two shared, busy cores,
 * 34 transactions of which 17 carry blobs (8,513 bytes): walked 70,000/s, with occurrences 13,000/s, with Merkle root and
 * occurrences 7,500/s. The last is 0.1 of the limit: hashing each of them and the tree takes 1.8 times the blocks of SHA-256,
 * in JavaScript. It is five times what a node gives by `getblock` (1,500/s).
 */
import { hash } from 'node:crypto';
import { decodeHex, encodeHex } from '../../src/core/blob/hex.ts';
import { buildMerkleProof, occurrencesOf, parseBlockHex, parseTxId } from '../../src/verify/index.ts';
import { commitment, craftBlock, craftTransaction, merkleRootOf } from '../verify/craft.ts';

const ROUNDS = 15;
const ROUND_MS = 100;
/** A block like the recorded ones: one input with a signature, one spendable output, every other one with a commitment. */
function blockHex(transactions: number): string {
  const parts = Array.from({ length: transactions }, (_, sequence) => ({
    version: sequence % 2 === 0 ? 137 : 2,
    sequence,
    scripts: [Buffer.alloc(34, 0x51), commitment(Buffer.alloc(32, sequence))],
  }));
  const witness = [Buffer.alloc(72, 1), Buffer.alloc(33, 2)];
  const merkleRoot = merkleRootOf(parts.map((part) => craftTransaction(part)));
  return encodeHex(
    craftBlock(
      parts.map((part) => craftTransaction({ ...part, witness })),
      { merkleRoot },
    ),
  );
}

/** Turns a second, the median of the rounds. */
function rate(turn: () => unknown): number {
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now();
    let turns = 0;
    for (; performance.now() - start < ROUND_MS; turns += 1) turn();
    rates.push((turns * 1_000) / (performance.now() - start));
  }
  return rates.sort((a, b) => a - b)[ROUNDS >> 1] ?? 0;
}

for (const transactions of [2, 34, 500]) {
  const hex = blockHex(transactions);
  const show = (name: string, turn: () => unknown) => {
    const ratio = rate(turn) / rate(limit);
    return `${name} ${Math.round(rate(turn))}/s = ${ratio.toFixed(2)} of the limit`;
  };
  const limit = () => {
    const bytes = decodeHex(hex);
    return hash('sha256', hash('sha256', bytes, 'buffer'), 'buffer');
  };
  const parsed = parseBlockHex(hex);
  process.stdout.write(
    `${transactions} transactions, ${hex.length / 2} bytes: limit ${Math.round(rate(limit))}/s; ${[
      show('walked', () => parseBlockHex(hex)),
      show('with occurrences', () => occurrencesOf(parseBlockHex(hex))),
      show('with Merkle root and occurrences', () => {
        const block = parseBlockHex(hex);
        block.merkleTree();
        return occurrencesOf(block);
      }),
      show('one proof', () => buildMerkleProof(parsed, [parsed.transactions[0]?.txid ?? parseTxId('')])),
    ].join('; ')}\n`,
  );
}
