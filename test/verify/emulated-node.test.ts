import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeHex } from '../../src/core/blob/hex.ts';
import { parseTxId } from '../../src/core/blob/ids.ts';
import { createDevnode, type Devnode } from '../../src/devnode/index.ts';
import {
  buildMerkleProof,
  checkHeaderOnChain,
  checkMerkleProof,
  makeOccurrenceRecord,
  occurrencesOf,
  parseBlockHash,
  parseBlockHex,
  parseHeaderHex,
  verifyOccurrence,
} from '../../src/verify/index.ts';
import { call } from '../devnode/rpc-client.ts';
import { BlockView, hexText } from './recorded-chain.ts';

/** The devnode writes blocks and proofs with code of its own: two implementations that check each other. */
let devnode: Devnode;
const submitted = new Map<string, { bytes: Uint8Array; hashType: 'keccak256' | 'blake2s256'; versionHash: string }>();

async function ask(method: string, ...params: unknown[]): Promise<unknown> {
  const { result, error } = await call(devnode, method, params);
  if (error !== null) throw new Error(`${method}: ${error.message}`);
  return result;
}

async function blockAt(height: number) {
  const hash = String(await ask('getblockhash', height));
  return { hash, block: parseBlockHex(hexText.parse(await ask('getblock', hash, 0))) };
}

beforeAll(async () => {
  devnode = await createDevnode({ seed: 'verify', initialBlocks: 200 });
  for (const blobs of [1, 2, 3, 7, 19, 32]) {
    for (let index = 0; index < blobs; index += 1) {
      const bytes = new TextEncoder().encode(`blob ${blobs}/${index}`);
      const hashType = index % 3 === 0 ? 'blake2s256' : 'keccak256';
      const { txid, versionHash } = devnode.submitBlob(bytes, { hashType });
      submitted.set(txid, { bytes, hashType, versionHash });
    }
    devnode.mine();
  }
});
afterAll(() => devnode.close());

test('every block from genesis to tip: hash, parent, ids and root', async () => {
  let previous = '0'.repeat(64);
  for (let height = 0; height <= devnode.chain.tip.height; height += 1) {
    const { hash, block } = await blockAt(height);
    expect(block.header.hash).toBe(hash);
    expect(block.header.previousHash).toBe(previous);
    block.merkleTree();
    const view = BlockView.omit({ previousblockhash: true }).parse(await ask('getblock', hash, 1));
    expect(block.transactions.map(({ txid }) => txid)).toEqual(view.tx);
    expect(block.header.timeSeconds).toBe(view.time);
    const header = parseHeaderHex(hexText.parse(await ask('getblockheader', hash, false)));
    expect(header.header).toEqual(block.header);
    previous = hash;
  }
});

test('the submitted blobs are found, no more and no fewer', async () => {
  const found = new Map<string, { hashType: string; versionHash: string }>();
  for (let height = 0; height <= devnode.chain.tip.height; height += 1) {
    const { occurrences, unclear } = occurrencesOf((await blockAt(height)).block);
    expect(unclear).toEqual([]);
    for (const { txid, hashType, versionHash } of occurrences) found.set(txid, { hashType, versionHash });
  }
  const expected = [...submitted].map(
    ([txid, { hashType, versionHash }]) => [txid, { hashType, versionHash }] as const,
  );
  expect(new Map(expected)).toEqual(found);
});

test('proofs for one and for several, the same bytes; each checks the other’s', async () => {
  for (let height = devnode.chain.tip.height - 5; height <= devnode.chain.tip.height; height += 1) {
    const { hash, block } = await blockAt(height);
    const txids = block.transactions.map(({ txid }) => txid);
    const choices = [...txids.map((txid) => [txid]), txids, txids.filter((_, index) => index % 3 === 1)];
    for (const chosen of choices.filter(({ length }) => length > 0)) {
      const ours = encodeHex(buildMerkleProof(block, chosen));
      expect(ours).toBe(await ask('gettxoutproof', chosen, hash));
      expect(await ask('verifytxoutproof', ours)).toEqual(chosen);
    }
  }
});

describe('records of an emulated chain', () => {
  test('verify, and the node says where their headers are, also after a reorganisation', async () => {
    const tip = devnode.chain.tip.height;
    const { block } = await blockAt(tip);
    const records = occurrencesOf(block).occurrences.map((occurrence) => {
      const blob = submitted.get(occurrence.txid);
      if (blob === undefined) throw new Error('It was submitted.');
      const record = makeOccurrenceRecord(block, occurrence, { size: blob.bytes.length, height: tip });
      expect(verifyOccurrence(blob.bytes, record)).toMatchObject({ ok: true });
      return record;
    });
    expect(records).toHaveLength(32);
    const [record] = records;
    if (record === undefined) throw new Error('There are 32.');
    const lookup = async () => {
      const header = await ask('getblockheader', record.blockHash);
      const { height, confirmations } = Object(header);
      const tipHeight = Number(await ask('getblockcount'));
      return { kind: 'known', blockHash: record.blockHash, height, confirmations, tipHeight } as const;
    };
    expect(await checkHeaderOnChain(record, lookup)).toMatchObject({ kind: 'on-chain', confirmations: 1 });
    devnode.reorganise(1, { blocks: 2 });
    expect(await checkHeaderOnChain(record, lookup)).toMatchObject({ kind: 'not-on-chain' });
    const dead = hexText.parse(await ask('gettxoutproof', [record.txid], record.blockHash));
    expect(checkMerkleProof(Buffer.from(dead, 'hex')).proven[0]?.txid).toBe(parseTxId(record.txid));
    expect(parseBlockHash(record.blockHash)).not.toBe((await blockAt(tip)).hash);
  });
});
