import { Block as PeerBlock } from 'bitcoinjs-lib';
import bitcore from 'bitcore-lib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDevnode, type Devnode } from '../../src/devnode/index.ts';
import { call } from './rpc-client.ts';

/** Two third-party parsers for the chain that this format derives from. */

let devnode: Devnode;
const result = async (method: string, ...params: unknown[]): Promise<string> =>
  String((await call(devnode, method, params)).result);

beforeAll(async () => {
  devnode = await createDevnode({ seed: 'second opinion' });
  for (const blobs of [1, 2, 7, 32]) {
    for (let blob = 0; blob < blobs; blob++) {
      const hashType = blob % 2 === 0 ? 'keccak256' : 'blake2s256';
      devnode.submitBlob(Buffer.from(`${blobs} ${blob}`), { hashType });
    }
    devnode.mine();
  }
});

afterAll(() => devnode.close());

describe.each([1, 2, 3, 4])('block %i with blobs', (fromStart) => {
  const read = async () => {
    const hash = await result('getblockhash', devnode.chain.tip.height - 4 + fromStart);
    return { hash, block: PeerBlock.fromHex(await result('getblock', hash, 0)) };
  };

  test('bitcoinjs-lib parses the header and confirms both Merkle roots', async () => {
    const { hash, block } = await read();
    expect(block.getId()).toBe(hash);
    expect(block.checkTxRoots()).toBe(true);
    expect(block.checkProofOfWork()).toBe(true);
    expect(block.toHex(true)).toBe(await result('getblockheader', hash, false));
  });

  test('bitcoinjs-lib computes the transaction ids of the node', async () => {
    const { hash, block } = await read();
    for (const transaction of block.transactions ?? []) {
      expect(await result('getrawtransaction', transaction.getId(), false, hash)).toBe(transaction.toHex());
    }
  });

  test('bitcore-lib verifies the tx-out proof of every transaction and finds the transaction in it', async () => {
    const { hash, block } = await read();
    for (const transaction of block.transactions ?? []) {
      const txid = transaction.getId();
      const proof = bitcore.MerkleBlock.fromBuffer(Buffer.from(await result('gettxoutproof', [txid], hash), 'hex'));
      expect(proof.header.hash).toBe(hash);
      expect(proof.validMerkleTree()).toBe(true);
      // The library gives ids in byte order, RPC in reversed order.
      expect(proof.filterdTxsHash().map((id) => Buffer.from(id, 'hex').reverse().toString('hex'))).toEqual([txid]);
    }
  });
});
