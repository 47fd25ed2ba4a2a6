import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { test } from 'vitest';
import { ProvenNames } from '../../src/bundle/proven-names.ts';
import { parseLeftOutDocument } from '../../src/catalog/left-out-document.ts';
import { lossDocumentOf, parseLossDocument } from '../../src/catalog/loss-document.ts';
import { isPublicReason, isRevocation, parseWithheldDocument } from '../../src/catalog/withheld-document.ts';
import { decodeHex, encodeHex } from '../../src/core/blob/hex.ts';
import { parseBlockHash, parseVersionHash } from '../../src/core/blob/ids.ts';
import { CustomPlace } from '../../src/replication/custom/custom-place.ts';
import { whyNotOwn } from '../../src/replication/own-evidence.ts';
import { bindTo, boundChain, markerText } from '../../src/storage/chain-binding.ts';
import { customNameOf } from '../../src/storage/object-store.ts';
import { recordPathOrNull } from '../../src/storage/record-path.ts';
import { hashWith, nobleHasher } from '../../src/verify/hasher.ts';
import {
  canonicalJson,
  checkReceipt,
  encodeOccurrenceRecord,
  makeOccurrenceRecord,
  occurrencesOf,
  parseAttestation,
  parseBlock,
  parseCheckpoint,
  parseHeaderLines,
  parseOccurrenceRecord,
  parseReceipt,
  verifyOccurrence,
} from '../../src/verify/index.ts';
import { HASHER, NEVER, sampleBlob } from '../sample-blobs.ts';
import { MemoryStore } from '../storage/memory-store.ts';
import { commitment, craftBlock, craftTransaction } from '../verify/craft.ts';
import { claim, outcomeOf } from './claims.ts';
import { explore } from './explore.ts';

const BLOB = sampleBlob('with a record', 90);
const { versionHash, hashType } = BLOB;
const GENESIS = parseBlockHash('ab'.repeat(32));
const AT = '2026-11-01T02:11:00.000Z';

const RECORD = (() => {
  const scripts = [commitment(decodeHex(versionHash))];
  const others = [craftTransaction({}), craftTransaction({ sequence: 2 })];
  const root = parseBlock(craftBlock([...others, craftTransaction({ version: 137, scripts })])).header.merkleRoot;
  const carrier = craftTransaction({ version: 137, scripts, witness: [Buffer.alloc(64)] });
  const block = parseBlock(craftBlock([...others, carrier], { merkleRoot: root }));
  const [found] = occurrencesOf(block).occurrences;
  if (found === undefined) throw new Error('the block commits to nothing');
  return makeOccurrenceRecord(block, found, { size: BLOB.bytes.length, height: 9 });
})();

/** A fixed key, so that a signature of the corpus stays one. */
const PRIVATE = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 7)]),
  format: 'der',
  type: 'pkcs8',
});
const KEY = Buffer.from(createPublicKey(PRIVATE).export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex');
const OWNER = { archiverId: 'ab'.repeat(8), keys: [KEY] };
const signed = (statement: object) => ({
  statement,
  signature: sign(null, Buffer.from(canonicalJson(statement)), PRIVATE).toString('hex'),
  keys: [],
});
const about = { archiver: OWNER.archiverId, key: KEY, chain: GENESIS, at: AT, format: 1 };
const attested = (unclear: number) =>
  signed({
    ...{
      ...about,
      kind: 'holdfast/attestation',
      number: 1,
      from: 10,
      to: 20,
      blockHash: GENESIS,
      root: '03'.repeat(32),
    },
    ...{ counts: { missing: 1, stored: 7, lost: 1, withheld: 0, custom: 0, 'not-archived-by-rule': 0 }, unclear },
  });
const [ATTESTED, OTHER] = [attested(0), attested(1)];
const RECEIPT = signed({
  ...{ ...about, kind: 'holdfast/receipt', hashType, versionHash, sizeBytes: 90, state: 'stored-and-final' },
  ...{ txid: RECORD.txid, vout: 0, height: 9, blockHash: RECORD.blockHash },
});
const LOSS = lossDocumentOf(
  {
    ...{ hashType, versionHash, upToHeight: 9, deadlineSeconds: 60 },
    answers: [{ source: 'node http://a', answered: 'absent', at: AT }],
  },
  { ...RECORD, transactionIndex: 2, medianTimeSeconds: 0 },
  0,
);
const LEFT_OUT = {
  ...{ format: 1, from: 0, to: 63 },
  blobs: [{ hashType, versionHash, sizeBytes: 90, senders: ['aa'], rule: 'size', at: AT }],
};
const WITHHELD = { format: 1, hashType, versionHash, reason: 'a', publicReason: 'b', at: AT, revokedAt: null };
const CUSTOM = {
  versionHash,
  keccak: parseVersionHash(encodeHex(hashWith(HASHER, 'keccak256', BLOB.bytes))),
};

/** A document below the archiver's own folder counts: then a key of this archiver signed just that. */
async function checkOwn(path: string, text: string, statements: readonly object[]): Promise<void> {
  if ((await whyNotOwn(path, text, OWNER)) !== null) return;
  const value: unknown = JSON.parse(text);
  const parts = path.startsWith('equivocations/') ? Object.values(value as object).slice(0, 2) : [value];
  for (const part of parts) {
    const { statement } = parseAttestation(JSON.stringify(part));
    const isSigned = statements.some((one) => isDeepStrictEqual(one, statement));
    claim(isSigned, 'a statement that this archiver never signed passed as its own');
  }
}

const KINDS: readonly ((text: string, bytes: Uint8Array) => unknown)[] = [
  (text) => {
    const record = parseOccurrenceRecord(text);
    const { ok } = verifyOccurrence(BLOB.bytes, record, { hasher: HASHER });
    // A header does not tell its height: that is what the record claims, and a node has to confirm.
    const isTrue = isDeepStrictEqual({ ...record, height: RECORD.height }, RECORD);
    // A Merkle proof can be written in other ways, and a transaction without its witness.
    const { txid, vout, blockHash, size } = record;
    const isSame =
      txid === RECORD.txid && vout === RECORD.vout && blockHash === RECORD.blockHash && size === RECORD.size;
    claim(!ok || isTrue || (isSame && record.versionHash === versionHash), 'a record of something else holds');
  },
  (text) => {
    const names = new ProvenNames({ blockAt: () => null });
    if (names.take(text) !== null) return;
    claim(names.count >= 0 && names.find(BLOB, 91) === null, 'a record proves another size');
  },
  (text) => checkOwn('attestations/whole/2026-11/1.json', text, [ATTESTED.statement, OTHER.statement]),
  (text) => checkOwn(`equivocations/${KEY}.json`, text, [ATTESTED.statement, OTHER.statement]),
  async (text) => {
    const receipt = parseReceipt(text);
    const steps = await checkReceipt(receipt, [KEY], { hashType, versionHash });
    const isSigned = isDeepStrictEqual(receipt.statement, RECEIPT.statement);
    claim(isSigned || steps.some(({ ok }) => !ok), 'a receipt that was never signed holds');
  },
  (text) => whyNotOwn(LOSS.path, text, OWNER),
  (text) => {
    const loss = parseLossDocument(text);
    claim(loss === null || Number.isSafeInteger(loss.upToHeight), 'a loss up to no height');
  },
  (text) => whyNotOwn('not-archived/0.json', text, OWNER),
  (text) => void parseLeftOutDocument(text),
  (text) => {
    try {
      const { publicReason } = parseWithheldDocument(text);
      claim(publicReason === null || isPublicReason(publicReason), 'a reason that may not be published is');
      isRevocation(JSON.parse(text));
    } catch (error) {
      // The reader of these documents tells whatever is wrong with one.
      if (error instanceof Error && /^(ZodError|SyntaxError)$/.test(error.name)) return;
      throw error;
    }
  },
  async (text) => {
    const store = new MemoryStore('s3');
    store.objects.set('holdfast.json', Buffer.from(text));
    const bound = await boundChain(store, NEVER);
    if ((await outcomeOf(() => bindTo(store, GENESIS, NEVER))) === null) return;
    claim(bound === GENESIS, `a store of the chain ${bound} is bound to another`);
  },
  async (_text, bytes) => {
    const store = new MemoryStore('s3');
    store.objects.set(`custom/${CUSTOM.versionHash}/${CUSTOM.keccak}`, bytes);
    const found = await new CustomPlace(store, HASHER).read(CUSTOM, NEVER);
    const isIt = encodeHex(hashWith(nobleHasher, 'keccak256', bytes)) === CUSTOM.keccak;
    claim((found.kind === 'good') === isIt, 'custom bytes under another name are good');
  },
  (text) => parseHeaderLines(text),
  (text) => parseCheckpoint(text),
  (text) => {
    const path = recordPathOrNull(text);
    claim(path === null || !/(^|\/)\.\.?(\/|$)|^\/|\\/.test(path), `${text} leads out of its folder`);
    customNameOf(text);
  },
  (_text, bytes) => {
    const block = parseBlock(bytes);
    block.merkleTree();
    occurrencesOf(block);
  },
];

async function run(input: Uint8Array): Promise<void> {
  const bytes = Uint8Array.from(input.subarray(1));
  const text = new TextDecoder().decode(bytes);
  await outcomeOf(async () => await KINDS[(input[0] ?? 0) % KINDS.length]?.(text, bytes));
}

const inputOf = (kind: number, document: string | Uint8Array) =>
  Buffer.concat([Buffer.of(kind), Buffer.from(document)]);

const SOUND = [
  encodeOccurrenceRecord(RECORD),
  JSON.stringify({ records: [RECORD] }),
  JSON.stringify(ATTESTED),
  JSON.stringify({ one: ATTESTED, other: OTHER }),
  JSON.stringify(RECEIPT),
  JSON.stringify(LOSS.document),
  JSON.stringify(LOSS.document),
  JSON.stringify(LEFT_OUT),
  JSON.stringify(LEFT_OUT),
  JSON.stringify(WITHHELD),
  markerText('holdfast', GENESIS),
  BLOB.bytes,
  `${RECORD.header}\n${RECORD.header}\n`,
  `9:${RECORD.blockHash}`,
  `occurrences/${hashType}/${versionHash}/${RECORD.txid}-0.json`,
  craftBlock([craftTransaction({ version: 137, scripts: [commitment(decodeHex(versionHash))] })]),
].map((seed, kind) => inputOf(kind, seed));

/** Signed, and changed afterwards. */
const FORGED = { ...ATTESTED, statement: { ...ATTESTED.statement, unclear: 2 } };
const SEEDS = [
  ...SOUND,
  inputOf(2, JSON.stringify(FORGED)),
  inputOf(3, JSON.stringify({ one: ATTESTED, other: FORGED })),
  inputOf(4, JSON.stringify({ ...RECEIPT, statement: { ...RECEIPT.statement, height: 10 } })),
  inputOf(11, Buffer.from('other bytes')),
];

const WORDS = [
  '"statement":',
  '"keys":[]',
  '"height":',
  '"format":1',
  '"header":"',
  '"vout":',
  '"next":',
  '"revokedAt":',
  KEY,
];

test('any document beside the blobs says what was written, or an error with a code', async () => {
  const folders = ['src/verify/', 'src/catalog/', 'src/replication/', 'src/storage/', 'src/bundle/'];
  await explore({ name: 'records', seeds: SEEDS, folders, words: WORDS, run });
}, 36_000_000);
