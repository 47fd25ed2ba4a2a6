import { gzipSync } from 'node:zlib';
import { Header } from 'tar';
import { describe, expect, test } from 'vitest';
import { carHeader, documentBlock, nodeBlock, sectionHead } from '../../src/bundle/car-block.ts';
import { checkBundle } from '../../src/bundle/check-bundle.ts';
import { Importer, type ImportModules } from '../../src/bundle/importer.ts';
import { type BundlePart, decodeManifest, decodePart, type Manifest } from '../../src/bundle/manifest.ts';
import { streamParts } from '../../src/bundle/stream-parts.ts';
import { blobCid } from '../../src/core/blob/cid.ts';
import { decodeHex, encodeHex } from '../../src/core/blob/hex.ts';
import { HASH_TYPES, parseBlockHash } from '../../src/core/blob/ids.ts';
import { createNodeHasher } from '../../src/hashing/index.ts';
import { hashWith, nobleHasher } from '../../src/verify/hasher.ts';
import {
  encodeOccurrenceRecord,
  makeOccurrenceRecord,
  type OccurrenceRecord,
  occurrencesOf,
  parseBlock,
} from '../../src/verify/index.ts';
import {
  digestOfBlock,
  digestText,
  HOLDINGS,
  InventoryTree,
  OCCURRENCE_BYTES,
  spanOf,
} from '../../src/verify/inventory.ts';
import { nameElsewhere, type VerifiedBlob } from '../../src/verify/verified-blob.ts';
import { inChunks } from '../bundle/in-chunks.ts';
import { openCatalog } from '../catalog/catalog-in-folder.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
import { commitment, craftBlock, craftTransaction } from '../verify/craft.ts';
import { claim } from './claims.ts';
import { explore } from './explore.ts';

const BLOBS = [sampleBlob('one', 90), sampleBlob('two', 700, 'blake2s256'), sampleBlob('three', 600)];
const SHA = 'keccak256';
const NAMED = BLOBS.filter(({ hashType }) => hashType === SHA);

/** The record of a blob in a block of its own. */
function recordOf({ versionHash, bytes }: (typeof BLOBS)[number], height: number): OccurrenceRecord {
  const scripts = [commitment(decodeHex(versionHash))];
  const carrier = craftTransaction({ version: 137, scripts, witness: [Buffer.alloc(64)] });
  const merkleRoot = parseBlock(craftBlock([craftTransaction({}), craftTransaction({ version: 137, scripts })])).header
    .merkleRoot;
  const block = parseBlock(craftBlock([craftTransaction({}), carrier], { merkleRoot }));
  const [found] = occurrencesOf(block).occurrences;
  if (found === undefined) throw new Error('the block commits to nothing');
  const record = { ...found, txid: block.transactions[1]?.txid ?? found.txid, vout: 0 };
  return makeOccurrenceRecord(block, record, { size: bytes.length, height });
}

const RECORDS = NAMED.map((blob, index) => recordOf(blob, index + 1));

/** A bundle of two parts, whole in every respect. */
function bundle(): Uint8Array {
  const tree = new InventoryTree(nobleHasher);
  const parts = RECORDS.map((record, index) => {
    const blob = NAMED[index];
    if (blob === undefined) throw new Error('a record without a blob');
    const { height } = record;
    const blockHash = decodeHex(record.blockHash);
    const occurrences = new Uint8Array(OCCURRENCE_BYTES);
    occurrences.set(decodeHex(record.txid));
    occurrences[36] = HASH_TYPES.indexOf(SHA) + 1;
    occurrences.set(decodeHex(record.versionHash), 37);
    occurrences[OCCURRENCE_BYTES - 1] = HOLDINGS.indexOf('stored');
    tree.add({ level: 0, index: height }, digestOfBlock(nobleHasher, { height, blockHash, occurrences }));
    const document = documentBlock(encodeOccurrenceRecord(record));
    const cid = blobCid(blob);
    const node: BundlePart = { blocks: [[height, blockHash, occurrences]], blobs: [cid], records: [document.cid] };
    return { node: nodeBlock(node), sections: [document, { cid, bytes: blob.bytes }] };
  });
  const manifest: Manifest = {
    ...({ format: 'holdfast-bundle', version: 1, from: 1, to: 9, records: RECORDS.length } as const),
    chain: parseBlockHash('ab'.repeat(32)),
    blockHash: parseBlockHash('cd'.repeat(32)),
    inventory: digestText(tree.root(spanOf(1, 9))),
    counts: { missing: 0, stored: NAMED.length, lost: 0, withheld: 0, custom: 0, 'not-archived-by-rule': 0 },
    blobs: NAMED.length,
    blobBytes: NAMED.reduce((sum, { bytes }) => sum + bytes.length, 0),
    parts: parts.map(({ node }) => node.cid),
  };
  const root = nodeBlock(manifest);
  const all = [root, ...parts.flatMap(({ node, sections }) => [node, ...sections])];
  const written = all.flatMap(({ cid, bytes }) => [sectionHead(cid, bytes.length), bytes]);
  return Uint8Array.from(Buffer.concat([carHeader(root.cid), ...written]));
}

function tarball(): Uint8Array {
  const blocks = BLOBS.flatMap(({ versionHash, bytes }) => {
    const header = new Header({ mode: 0o644, mtime: new Date(0), type: 'File', path: versionHash, size: bytes.length });
    header.encode();
    const body = new Uint8Array(Math.ceil(bytes.length / 512) * 512);
    body.set(bytes);
    return [header.block ?? new Uint8Array(512), body];
  });
  return Uint8Array.from(Buffer.concat([...blocks, new Uint8Array(1_024)]));
}

const CAR = bundle();
const TAR = tarball();
const [FIRST] = BLOBS;
const hash = FIRST?.versionHash ?? '';
const raw = FIRST?.bytes ?? CAR;

interface Form {
  readonly form: string;
  readonly path: string;
  readonly bytes: Uint8Array;
  /** Blobs in it. */
  readonly blobs: number;
}

const FORMS: readonly Form[] = [
  { form: 'a bundle', path: 'a.car', bytes: CAR, blobs: NAMED.length },
  { form: 'a tarball', path: 'a.tar', bytes: TAR, blobs: BLOBS.length },
  { form: 'a tarball that is called as one of its blobs', path: `${hash}.tar`, bytes: TAR, blobs: BLOBS.length },
  { form: 'a packed tarball', path: 'a.tgz', bytes: Uint8Array.from(gzipSync(TAR)), blobs: BLOBS.length },
  { form: 'a packed bundle', path: 'a.car.gz', bytes: Uint8Array.from(gzipSync(CAR)), blobs: NAMED.length },
  { form: 'hex text', path: hash, bytes: Uint8Array.from(Buffer.from(`0x${encodeHex(raw)}\n`)), blobs: 1 },
  { form: 'a blob', path: hash, bytes: raw, blobs: 1 },
  {
    form: 'a record',
    path: 'a.json',
    bytes: Uint8Array.from(Buffer.from(RECORDS.map(encodeOccurrenceRecord)[0] ?? '')),
    blobs: 0,
  },
];

/** Imports bytes into nothing, and gives what an archive would have kept. */
async function importer() {
  const catalog = openCatalog();
  return async (path: string, bytes: Uint8Array, chunk: number) => {
    const kept: VerifiedBlob[] = [];
    const modules: ImportModules = {
      catalog,
      namer: {
        name: (hashType, given) =>
          nameElsewhere(hashType, given, async (type, own) => ({ digest: hashWith(HASHER, type, own), bytes: own })),
      },
      spooler: {
        async spool(blob) {
          kept.push({ ...blob, bytes: blob.bytes.slice() });
        },
      },
      boundChain: async () => null,
      clock: { wallMs: () => 0, steadyMs: () => 0 },
    };
    const one = new Importer(modules, () => {});
    await one.begin();
    for await (const part of streamParts(path, inChunks(bytes, chunk), one)) await one.take(part, NEVER);
    return { kept, outcome: one.outcome };
  };
}

const HASHER = await createNodeHasher();

/** Bytes that arrive at once. */
const CHUNKS = [100_000, 1, 13, 512] as const;
const NODES = [nodeBlock({ format: 'holdfast-bundle' }).bytes, CAR.subarray(100, 900)];
const CHECK = FORMS.length;
const NODE = CHECK + 1;
const SEEDS = [
  ...FORMS.map(({ bytes }, form) => Buffer.concat([Buffer.of(form, 1), bytes])),
  Buffer.concat([Buffer.of(CHECK, 0), CAR]),
  ...NODES.map((bytes) => Buffer.concat([Buffer.of(NODE, 0), bytes])),
];

describe('an import', () => {
  test.each(FORMS)('takes every blob of $form', async ({ path, bytes, blobs }) => {
    const { kept, outcome } = await (await importer())(path, bytes, 100);
    expect([kept.length, outcome.unusableCount]).toEqual([blobs, 0]);
  });

  test('holds for the whole bundle by the check', async () => {
    expect((await checkBundle('c', inChunks(CAR, 100), nobleHasher)).wrong).toEqual([]);
  });

  test('ends for any bytes, keeps only blobs under their names, and calls no other bundle whole', async () => {
    const imported = await importer();
    const words = ['keccak256', 'blobs', 'records', 'parts', 'ustar', hash, '0x'];
    async function run(input: Uint8Array): Promise<void> {
      const kind = (input[0] ?? 0) % (NODE + 1);
      const size = CHUNKS[(input[1] ?? 0) % CHUNKS.length] ?? 1;
      const bytes = Uint8Array.from(input.subarray(2));
      const form = FORMS[kind];
      if (form !== undefined) {
        const { kept } = await imported(form.path, bytes, size);
        for (const one of kept) {
          const named = encodeHex(hashWith(nobleHasher, one.hashType, one.bytes));
          claim(named === one.versionHash, `bytes of ${named} were kept as ${one.versionHash}`);
        }
      } else if (kind === CHECK) {
        const { wrongCount } = await checkBundle('c', inChunks(bytes, size), HASHER);
        claim(
          (wrongCount === 0) === (Buffer.compare(bytes, CAR) === 0),
          'another bundle is called whole, or this one not',
        );
      } else if (!NODES.some((node) => Buffer.compare(node, bytes) === 0)) {
        decodeManifest(bytes);
        decodePart(bytes);
      }
    }
    await explore({ name: 'bundles', seeds: SEEDS, folders: ['src/bundle/'], words, run });
  }, 36_000_000);
});
