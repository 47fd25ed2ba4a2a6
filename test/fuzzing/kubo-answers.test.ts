import { afterAll, beforeAll, test } from 'vitest';
import { blobCid } from '../../src/core/blob/cid.ts';
import { encodeHex } from '../../src/core/blob/hex.ts';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import { ipfsOptions } from '../../src/storage/ipfs/ipfs-options.ts';
import { IpfsStore } from '../../src/storage/ipfs/ipfs-store.ts';
import type { MarkPath } from '../../src/storage/object-store.ts';
import { hashWith, nobleHasher } from '../../src/verify/hasher.ts';
import { verifyBlob } from '../../src/verify/verified-blob.ts';
import { HASHER, NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';
import { claim, outcomeOf } from './claims.ts';
import { explore } from './explore.ts';
import { chunkedAnswer, FUZZED_ORIGIN, httpAnswer, InProcessServer, inputOf, scriptOf } from './in-process-server.ts';

const server = new InProcessServer();
beforeAll(() => server.open());
afterAll(() => server.close());

const STORE = await IpfsStore.open(ipfsOptions({ apiUrl: FUZZED_ORIGIN }));
const BLOB = sampleBlob('in a fuzzed Kubo', 200);
const NAME = nameOf(BLOB);
const CID = blobCid(BLOB).toString();
const OTHER = blobCid(sampleBlob('another in a fuzzed Kubo', 10)).toString();
const MARK: MarkPath = 'probe/place-a';
const MARK_HASH = parseVersionHash(encodeHex(hashWith(HASHER, 'keccak256', Buffer.from(MARK))));
const MARK_CID = blobCid({ hashType: 'keccak256', versionHash: MARK_HASH }).toString();

const saidIn = (input: Uint8Array) => Buffer.from(input).toString('latin1');

/** "Not there" is only what Kubo says of the block itself. */
function checkAbsence(input: Uint8Array): void {
  const isSaid = /could not find b|not found locally|is not pinned|not pinned or pinned|\\u/.test(saidIn(input));
  claim(isSaid, 'a block is absent without the words for that');
}

const OPERATIONS: readonly ((input: Uint8Array) => Promise<unknown>)[] = [
  async (input) => {
    const bytes = await STORE.get(NAME, NEVER);
    if (bytes === null) return checkAbsence(input);
    const blob = verifyBlob({ ...NAME, bytes }, HASHER);
    const hash = encodeHex(hashWith(nobleHasher, NAME.hashType, bytes));
    claim(blob === null || hash === NAME.versionHash, 'other bytes passed as the blob');
  },
  async (input) => {
    const found = await STORE.stat(NAME, NEVER);
    if (found === null) return checkAbsence(input);
    claim(Number.isSafeInteger(found.sizeBytes) && found.sizeBytes >= 0, `a block has ${found.sizeBytes} bytes`);
  },
  async (input) => {
    if (await STORE.isKept(NAME, NEVER)) claim(/Cid|\\u/.test(saidIn(input)), 'a block is pinned by nothing');
  },
  async () => {
    for await (const entry of STORE.list('blobs', NEVER)) {
      claim('hashType' in entry && /^[0-9a-f]{64}$/.test(entry.versionHash), 'a listed name is none');
    }
  },
  () => STORE.put(BLOB, 'create', NEVER),
  () => STORE.put(BLOB, 'replace', NEVER),
  () => STORE.delete(NAME, NEVER),
  async (input) => {
    if (!(await STORE.purge(NAME, NEVER))) checkAbsence(input);
  },
  () => STORE.put({ path: MARK, text: MARK }, 'create', NEVER),
  async () => {
    const bytes = await STORE.freeBytes(NEVER);
    claim(Number.isFinite(bytes), `the disk has ${bytes} bytes`);
  },
  () => STORE.probe(NEVER),
];

async function run(input: Uint8Array): Promise<void> {
  server.play(scriptOf(input));
  await outcomeOf(async () => await OPERATIONS[(input[0] ?? 0) % OPERATIONS.length]?.(input));
  server.assertEnded();
}

const JSON_TYPE = { 'content-type': 'application/json' };
const json = (value: unknown) => httpAnswer('200 OK', JSON_TYPE, JSON.stringify(value));
const said = (Message: string) =>
  httpAnswer('500 Internal Server Error', JSON_TYPE, JSON.stringify({ Message, Code: 0, Type: 'error' }));
const pin = (cid: string) => `${JSON.stringify({ Cid: cid, Type: 'recursive' })}\n`;
const pins = chunkedAnswer('200 OK', JSON_TYPE, [pin(CID), pin(OTHER)]);
const plainPins = httpAnswer('200 OK', JSON_TYPE, pin(CID) + pin(OTHER));
const broken = chunkedAnswer('200 OK', { ...JSON_TYPE, trailer: 'X-Stream-Error' }, [pin(CID)], {
  'X-Stream-Error': 'datastore closed',
});
const block = httpAnswer('200 OK', { 'content-type': 'application/octet-stream' }, BLOB.bytes);
const size = json({ Key: CID, Size: 200 });
const put = json({ Key: CID, Size: 200 });
const absent = said(`block was not found locally (offline): ipld: could not find ${CID}`);
const notPinned = said(`path '/ipfs/${CID}' is not pinned`);
const removed = chunkedAnswer('200 OK', JSON_TYPE, [`${JSON.stringify({ Hash: CID })}\n`]);

const SEEDS = [
  // First, for the newest inputs are changed most often: a probe puts a block of 2 MiB.
  inputOf(10, [
    json({ Version: '0.42.0' }),
    put,
    block,
    json({ Value: { type: 'mount' } }),
    httpAnswer('404 Not Found', {}, ''),
  ]),
  inputOf(0, [block]),
  inputOf(0, [absent]),
  inputOf(0, [said('block in storage has different hash than requested')]),
  inputOf(1, [pins, size]),
  inputOf(1, [notPinned, absent]),
  inputOf(2, [pins]),
  inputOf(2, [plainPins]),
  inputOf(2, [notPinned]),
  inputOf(3, [plainPins]),
  inputOf(3, [pins], 9),
  inputOf(3, [broken]),
  inputOf(4, [put]),
  inputOf(4, [json({ Key: OTHER, Size: 10 })]),
  inputOf(5, [absent, put]),
  inputOf(5, [size, block, json({ Pins: [CID] })]),
  inputOf(5, [size, httpAnswer('200 OK', {}, 'other'), httpAnswer('200 OK', {}, 'other'), notPinned, removed, put]),
  inputOf(6, [json({ Pins: [CID] }), removed]),
  inputOf(6, [notPinned, chunkedAnswer('200 OK', JSON_TYPE, [`${JSON.stringify({ Hash: CID, Error: 'no' })}\n`])]),
  inputOf(7, [size, pins, json({ Pins: [CID] }), removed]),
  inputOf(7, [absent, notPinned]),
  inputOf(8, [json({ Key: MARK_CID, Size: MARK.length })]),
  inputOf(9, [json({ diskinfo: { free_space: 5_000_000 } })]),
];
const WORDS = [
  ...['"Cid":', '"Key":', '"Size":', '"Message":', '"Error":', 'Pins', CID, OTHER, 'could not find b', 'is not pinned'],
  ...[
    'X-Stream-Error: a\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Content-Length: 5\r\n',
    'HTTP/1.1 500 A\r\n',
    'no space left',
  ],
];

test('any answer of Kubo is what it says, or an error with a code', async () => {
  await explore({ name: 'kubo-answers', seeds: SEEDS, folders: ['src/storage/'], words: WORDS, run });
}, 36_000_000);
