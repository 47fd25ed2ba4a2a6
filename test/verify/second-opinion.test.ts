import { Block as PeerBlock, Transaction as PeerTransaction } from 'bitcoinjs-lib';
import { describe, expect, test } from 'vitest';
import { decodeHex, encodeHex } from '../../src/core/blob/hex.ts';
import { parseBlockHex, parseTransaction } from '../../src/verify/index.ts';
import { commitment, craftTransaction } from './craft.ts';
import { blocks } from './recorded-chain.ts';

/** bitcoinjs-lib is written by others for the chain that this one's format comes from. */
describe.each(blocks)('block $view.height as bitcoinjs-lib reads it', ({ hex }) => {
  const ours = parseBlockHex(hex);
  const theirs = PeerBlock.fromHex(hex);

  test('header', () => {
    expect(ours.header.hash).toBe(theirs.getId());
    expect(ours.header.version).toBe(theirs.version);
    expect(ours.header.timeSeconds).toBe(theirs.timestamp);
    expect(ours.header.bits).toBe(theirs.bits);
    expect(ours.header.nonce).toBe(theirs.nonce);
    expect(Buffer.from(ours.header.merkleRoot)).toEqual(Buffer.from(theirs.merkleRoot ?? []));
    expect(theirs.checkTxRoots()).toBe(true);
    expect(encodeHex(ours.fullHeader.raw)).toBe(theirs.toHex(true));
  });

  test('transactions', () => {
    const peers = theirs.transactions ?? [];
    expect(ours.transactions.map(({ txid }) => txid)).toEqual(peers.map((transaction) => transaction.getId()));
    expect(ours.transactions.map(({ raw }) => encodeHex(raw))).toEqual(peers.map((transaction) => transaction.toHex()));
    for (const [index, transaction] of ours.transactions.entries()) {
      expectSameOutputs(transaction.outputs(), peers[index]);
    }
  });
});

test.each([
  [
    'legacy',
    craftTransaction({ version: 137, scripts: [commitment(Buffer.alloc(32, 4), 1), Buffer.alloc(300, 0x51)] }),
  ],
  ['with witnesses', craftTransaction({ witness: [Buffer.alloc(70_000, 1)], scripts: [Buffer.alloc(0)], version: -1 })],
  ['many outputs', craftTransaction({ scripts: Array.from({ length: 300 }, () => Buffer.of(0x51)) })],
])('a made-up transaction, %s', (_, bytes) => {
  const ours = parseTransaction(bytes);
  const theirs = PeerTransaction.fromBuffer(bytes);
  expect(ours.txid).toBe(theirs.getId());
  expect(ours.version).toBe(theirs.version | 0);
  expectSameOutputs(ours.outputs(), theirs);
  expect(encodeHex(decodeHex(encodeHex(ours.raw)))).toBe(theirs.toHex());
});

function expectSameOutputs(
  ours: readonly { valueSats: bigint; script: Uint8Array }[],
  theirs: PeerTransaction | undefined,
): void {
  const shown = theirs?.outs.map(({ value, script }) => ({ valueSats: value, script: encodeHex(script) }));
  expect(ours.map(({ valueSats, script }) => ({ valueSats, script: encodeHex(script) }))).toEqual(shown);
}
