import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { decodeMerkleBlock, encodeMerkleBlock } from '../../src/devnode/chain/merkle-block.ts';
import { createDevnode, type Devnode } from '../../src/devnode/index.ts';
import { scriptView } from '../../src/devnode/rpc/block-view.ts';
import { parseRawBlock, reversed, rootOf, sha256d } from './raw-block-parser.ts';
import { call } from './rpc-client.ts';

const TARGET = `7fffff${'0'.repeat(58)}`;
const ZERO = '0'.repeat(64);

let devnode: Devnode;

beforeAll(async () => {
  devnode = await createDevnode({ seedRecordedBlobs: true, initialBlocks: 130 });
  devnode.mine(2);
});

afterAll(() => devnode.close());

const result = async (method: string, ...params: unknown[]): Promise<string> =>
  String((await call(devnode, method, params)).result);

describe('blocks pass a parser that shares no code with their writer', () => {
  test('headers link, meet the target and commit to transactions and witnesses', async () => {
    let previous = ZERO;
    for (let height = 0; height <= devnode.chain.tip.height; height++) {
      const hash = await result('getblockhash', height);
      const block = parseRawBlock(await result('getblock', hash, 0));
      expect(block.hash).toBe(hash);
      expect(block.hash < TARGET).toBe(true);
      expect(block.previous).toBe(previous);
      expect(rootOf(block.transactions.map(({ txid }) => txid))).toBe(block.merkleRoot);
      const [coinbase, ...others] = block.transactions;
      const witnessRoot = Buffer.from(rootOf([ZERO, ...others.map(({ witnessTxid }) => witnessTxid)]), 'hex').reverse();
      const commitment = sha256d(Buffer.concat([witnessRoot, Buffer.alloc(32)])).toString('hex');
      expect(coinbase?.scripts).toContain(`6a24aa21a9ed${commitment}`);
      expect(coinbase?.spends).toEqual([`${ZERO}:${0xffffffff}`]);
      previous = hash;
    }
  });

  test('each recorded content has a commitment of its hash type and spends an existing coin', async () => {
    const raw = parseRawBlock(await result('getblock', await result('getblockhash', 131), 0));
    const [, ...blobs] = raw.transactions;
    expect(blobs).toHaveLength(22);
    for (const transaction of blobs) {
      expect(transaction.version).toBe(137);
      const { result: shown } = await call(devnode, 'getnevmblobdata', [transaction.txid]);
      const { versionhash } = z.object({ versionhash: z.string() }).parse(shown);
      const forms = [`6a2120${versionhash}`, `6a222101${versionhash}`];
      expect(transaction.scripts.filter((script) => forms.includes(script))).toHaveLength(1);
      for (const spend of transaction.spends) {
        expect(await result('getrawtransaction', spend.slice(0, 64))).toMatch(/^[0-9a-f]+$/);
      }
    }
  });

  test('a tx-out proof of any set of transactions leads back to them', async () => {
    const txids = devnode.chain.tree.at(131)?.transactions.map(({ txid }) => txid) ?? [];
    for (const chosen of [[0], [22], [3, 4], [1, 8, 21], txids.keys().toArray()]) {
      const wanted = chosen.map((index) => txids[index]);
      const proof = await result('gettxoutproof', wanted);
      expect((await call(devnode, 'verifytxoutproof', [proof])).result).toEqual(wanted);
      const damaged = `${proof.slice(0, 180)}${proof[180] === '0' ? '1' : '0'}${proof.slice(181)}`;
      expect((await call(devnode, 'verifytxoutproof', [damaged])).result).not.toEqual(wanted);
    }
  });
});

describe('comparison with the recorded chain', () => {
  const file = gunzipSync(readFileSync(new URL('../vectors/chain-5.1.json.gz', import.meta.url))).toString();
  const Recording = z.object({ exchanges: z.record(z.string(), z.object({ text: z.string() })) });
  const exchanges = Object.entries(Recording.parse(JSON.parse(file)).exchanges);
  const Views = z.object({
    result: z.object({
      tx: z.array(
        z.object({ txid: z.string(), vout: z.array(z.object({ scriptPubKey: z.looseObject({ hex: z.string() }) })) }),
      ),
    }),
  });
  const textOf = (...key: unknown[]): string =>
    exchanges.find(([found]) => found === JSON.stringify(key))?.[1].text ?? '';

  test('scripts have the node’s form: asm, descriptor with checksum, address, type', () => {
    const blocks = exchanges.filter(([key]) => key.startsWith('["getblock"') && key.endsWith(',2]]'));
    for (const [, { text }] of blocks) {
      for (const { vout } of Views.parse(JSON.parse(text)).result.tx) {
        for (const { scriptPubKey } of vout) {
          expect(scriptView(Buffer.from(scriptPubKey.hex, 'hex'))).toEqual(scriptPubKey);
        }
      }
    }
  });

  test('tx-out proofs of recorded blocks equal the recorded proofs byte for byte', () => {
    const proofs = exchanges.filter(([key]) => key.startsWith('["gettxoutproof"'));
    expect(proofs).toHaveLength(23);
    for (const [, { text }] of proofs) {
      const { result: proof } = z.object({ result: z.string() }).parse(JSON.parse(text));
      const header = Buffer.from(proof.slice(0, 160), 'hex');
      const { result } = Views.parse(JSON.parse(textOf('getblock', [reversed(sha256d(header)), 2])));
      const decoded = decodeMerkleBlock(Buffer.from(proof, 'hex'));
      const made = encodeMerkleBlock(
        header,
        result.tx.map(({ txid }) => txid),
        new Set(decoded?.txids),
      );
      expect(made.toString('hex')).toBe(proof);
    }
  });
});
