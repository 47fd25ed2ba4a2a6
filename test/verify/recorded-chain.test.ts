import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { decodeHex, encodeHex } from '../../src/core/blob/hex.ts';
import { parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { toDisplayHex } from '../../src/verify/hash-bytes.ts';
import {
  buildMerkleProof,
  carriedBy,
  checkMerkleProof,
  encodeOccurrenceRecord,
  makeOccurrenceRecord,
  occurrenceKey,
  occurrencesOf,
  parseBlockHex,
  parseHeaderHex,
  parseOccurrenceRecord,
  parseTransaction,
  verifyOccurrence,
} from '../../src/verify/index.ts';
import { blobs, blockOf, blocks, bytesOf, hexText, losing, recorded, recordedCalls } from './recorded-chain.ts';

const TransactionView = z.object({
  txid: z.string(),
  version: z.int(),
  hex: hexText,
  vin: z.array(z.object({ txid: z.string(), vout: z.int() })),
  vout: z.array(z.object({ n: z.int(), value: z.number(), scriptPubKey: z.object({ hex: hexText }) })),
});
const Release = z.array(
  z.object({ name: z.string(), request: z.object({ body: z.string() }), response: z.object({ body: z.string() }) }),
);
const exchanges = Release.parse(
  JSON.parse(readFileSync(new URL('../vectors/release-5.1.json', import.meta.url), 'utf8')),
);

/** One exchange of the other recording. */
function release(name: string): z.infer<typeof Release>[number] {
  const found = exchanges.find((exchange) => exchange.name === name);
  if (found === undefined) throw new Error(`Not recorded: ${name}`);
  return found;
}

const mined = blobs.filter(({ txid }) => !losing.includes(blockOf(txid).view.hash));

describe('the recorded blocks', () => {
  test.each(blocks)('$view.height $view.hash: header, ids and root are those that the node shows', ({ view, hex }) => {
    const block = parseBlockHex(hex);
    const { header } = block;
    expect(header).toMatchObject({
      hash: view.hash,
      version: view.version,
      previousHash: view.previousblockhash,
      timeSeconds: view.time,
      nonce: view.nonce,
    });
    expect(header.bits.toString(16)).toBe(view.bits);
    expect(toDisplayHex(header.merkleRoot)).toBe(view.merkleroot);
    expect(block.transactions.map(({ txid }) => txid)).toEqual(view.tx);
    expect(toDisplayHex(block.merkleTree().root)).toBe(view.merkleroot);
    const headerHex = hexText.parse(recorded('getblockheader', view.hash, false));
    expect(encodeHex(block.fullHeader.raw)).toBe(headerHex);
    expect(parseHeaderHex(headerHex).header.hash).toBe(view.hash);
  });

  test('the headers make a chain by their own hashes', () => {
    const alive = blocks
      .filter(({ view }) => !losing.includes(view.hash))
      .sort((a, b) => a.view.height - b.view.height);
    expect(alive).toHaveLength(19);
    for (const [index, { hex }] of alive.slice(1).entries()) {
      expect(parseBlockHex(hex).header.previousHash).toBe(alive[index]?.view.hash);
    }
  });
});

describe('the recorded transactions', () => {
  const seen = recordedCalls('getrawtransaction', 3).filter(({ params }) => params[1] === true);

  test('there are 22', () => expect(seen).toHaveLength(22));

  test.each(seen)('$params: id, version and outputs', ({ result }) => {
    const view = TransactionView.parse(result);
    const transaction = parseTransaction(decodeHex(view.hex));
    expect(transaction.txid).toBe(view.txid);
    expect(transaction.version).toBe(view.version);
    expect(encodeHex(transaction.raw)).toBe(view.hex);
    expect(transaction.spentOutputs()).toEqual(view.vin);
    const outputs = transaction.outputs();
    expect(outputs.map(({ script }) => encodeHex(script))).toEqual(view.vout.map((out) => out.scriptPubKey.hex));
    expect(outputs.map(({ valueSats }) => Number(valueSats))).toEqual(
      view.vout.map((out) => Math.round(out.value * 1e8)),
    );
  });

  test('every submission is found in its block, with the hash type and version hash that it was made with', () => {
    for (const { txid, hashType, versionhash } of blobs) {
      const { occurrences, unclear } = occurrencesOf(parseBlockHex(blockOf(txid).hex));
      expect(unclear).toEqual([]);
      const found = occurrences.filter((occurrence) => occurrence.txid === txid);
      expect(found).toMatchObject([{ hashType, versionHash: versionhash }]);
    }
  });

  test('nothing else is found: as many occurrences as submissions in the blocks', () => {
    const found = blocks.flatMap(({ hex }) => occurrencesOf(parseBlockHex(hex)).occurrences);
    expect(new Set(found.map(({ txid }) => txid))).toEqual(new Set(blobs.map(({ txid }) => txid)));
  });
});

describe('the recorded Merkle proofs', () => {
  const proofs = recordedCalls('gettxoutproof', 2);

  test('there are 22', () => expect(proofs).toHaveLength(22));

  test.each(proofs)('$params: built to the byte, and accepted', ({ params, result }) => {
    const [[txid], blockHash] = z.tuple([z.tuple([z.string()]), z.string()]).parse(params);
    const hex = hexText.parse(result);
    const block = parseBlockHex(hexText.parse(recorded('getblock', blockHash, 0)));
    expect(encodeHex(buildMerkleProof(block, [parseTxId(txid)]))).toBe(hex);
    const checked = checkMerkleProof(decodeHex(hex));
    expect(checked.header.hash).toBe(blockHash);
    expect(checked.transactionCount).toBe(block.transactions.length);
    const transactionIndex = block.transactions.findIndex((transaction) => transaction.txid === txid);
    expect(checked.proven).toEqual([{ txid, transactionIndex }]);
  });

  test('the node’s own verifytxoutproof names the same transactions', () => {
    const answers = recordedCalls('verifytxoutproof', 1);
    expect(answers).toHaveLength(22);
    for (const { params, result } of answers) {
      const { proven } = checkMerkleProof(decodeHex(hexText.parse(params[0])));
      expect(proven.map(({ txid }) => txid)).toEqual(result);
    }
  });

  test('the other recording’s proof too', () => {
    const asked = z.object({ params: z.tuple([z.tuple([z.string()]), z.string()]) });
    const [[txid], blockHash] = asked.parse(JSON.parse(release('tx out proof').request.body)).params;
    const { result } = z.object({ result: hexText }).parse(JSON.parse(release('tx out proof').response.body));
    const checked = checkMerkleProof(decodeHex(result));
    expect(checked.header.hash).toBe(blockHash);
    expect(checked.proven).toEqual([{ txid, transactionIndex: 1 }]);
    expect(release('verify tx out proof').response.body).toContain(txid);
  });
});

describe('occurrence records of the recorded chain', () => {
  test('there are 22 mined submissions', () => expect(mined).toHaveLength(22));

  test.each(blobs)('$label ($size bytes, $hashType): from bytes to header', (blob) => {
    const { view, hex } = blockOf(blob.txid);
    const block = parseBlockHex(hex);
    const [occurrence] = occurrencesOf(block).occurrences.filter(({ txid }) => txid === blob.txid);
    if (occurrence === undefined) throw new Error('It was found above.');
    const record = makeOccurrenceRecord(block, occurrence, { size: blob.size, height: view.height });
    const text = encodeOccurrenceRecord(record);
    expect(parseOccurrenceRecord(text)).toEqual(record);
    expect(encodeOccurrenceRecord(parseOccurrenceRecord(text))).toBe(text);
    expect(occurrenceKey(record)).toBe(
      `occurrences/${blob.hashType}/${blob.versionhash}/${view.height}-${blob.txid}-${record.vout}.json`,
    );
    const verdict = verifyOccurrence(bytesOf(blob), record);
    expect(verdict.steps.filter(({ ok }) => !ok)).toEqual([]);
    expect(verdict.ok).toBe(true);
    expect(verdict.says).toContain(`Included in header ${view.hash}`);
  });

  test('a proof against a dead block parses, and is only said to be included in a header', () => {
    const orphan = blobs.find(({ txid }) => losing.includes(blockOf(txid).view.hash));
    if (orphan === undefined) throw new Error('One submission was orphaned.');
    const proof = hexText.parse(recorded('gettxoutproof', [orphan.txid]));
    const { header, proven } = checkMerkleProof(decodeHex(proof));
    expect(proven.map(({ txid }) => txid)).toEqual([orphan.txid]);
    expect(losing).toContain(header.hash);
    const block = parseBlockHex(blockOf(orphan.txid).hex);
    expect(encodeHex(buildMerkleProof(block, [parseTxId(orphan.txid)]))).toBe(proof);
    expect(parseBlockHash(header.hash)).toBe(block.header.hash);
    const transaction = parseTransaction(decodeHex(hexText.parse(recorded('getrawtransaction', orphan.txid, false))));
    const carried = carriedBy(transaction);
    if (carried.kind !== 'one') throw new Error('It carries one.');
    const named = { ...carried.commitment, txid: transaction.txid };
    const record = makeOccurrenceRecord(block, named, { size: orphan.size, height: 123 });
    const verdict = verifyOccurrence(bytesOf(orphan), record);
    expect(verdict.ok).toBe(true);
    expect(verdict.says).toMatch(/^Included in header /);
    expect(JSON.stringify(verdict)).not.toMatch(/on chain/i);
  });
});
