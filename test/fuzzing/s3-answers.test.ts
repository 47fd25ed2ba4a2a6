import { afterAll, beforeAll, test, vi } from 'vitest';
import { encodeHex } from '../../src/core/blob/hex.ts';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import type { CustomName, ListedObject } from '../../src/storage/object-store.ts';
import { parseRecordPath } from '../../src/storage/record-path.ts';
import { S3Bucket } from '../../src/storage/s3/s3-bucket.ts';
import { s3Options } from '../../src/storage/s3/s3-options.ts';
import { S3Store } from '../../src/storage/s3/s3-store.ts';
import { hashWith, nobleHasher } from '../../src/verify/hasher.ts';
import { verifyBlob } from '../../src/verify/verified-blob.ts';
import { HASHER, NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';
import { claim, outcomeOf } from './claims.ts';
import { explore } from './explore.ts';
import { chunkedAnswer, FUZZED_ORIGIN, httpAnswer, InProcessServer, inputOf, scriptOf } from './in-process-server.ts';

const server = new InProcessServer();
beforeAll(() => {
  server.open();
  // The SDK waits for a random time before its second try.
  vi.spyOn(Math, 'random').mockReturnValue(0);
});
afterAll(() => {
  vi.restoreAllMocks();
  server.close();
});

const OPTIONS = s3Options({
  bucket: 'some-bucket',
  endpoint: FUZZED_ORIGIN,
  credentials: { accessKeyId: 'key', secretAccessKey: 'very-secret' },
});
const STORE = await S3Store.open(OPTIONS);
const SENTINEL = await S3Store.open({ ...OPTIONS, layout: 'sentinel' });
const BUCKET = await S3Bucket.open(OPTIONS);
const BLOB = sampleBlob('in a fuzzed bucket', 200);
const NAME = nameOf(BLOB);
const { versionHash } = BLOB;
const CUSTOM: CustomName = { versionHash, keccak: parseVersionHash('ab'.repeat(32)) };
const RECORD = parseRecordPath(`occurrences/keccak256/${versionHash}/${'cd'.repeat(32)}-0.json`);

function checkBytes(bytes: Uint8Array): void {
  const blob = verifyBlob({ versionHash, hashType: null, bytes }, HASHER);
  if (blob === null) return;
  claim(encodeHex(hashWith(nobleHasher, blob.hashType, bytes)) === versionHash, 'other bytes passed as the blob');
}

const INNERMOST = /<(\w+)(?:\s[^<>]*)?>[^<]*<\/\1\s*>/g;

/** "Not there" is only what the server says positively of the key. The text of an element is one word, whatever is within it. */
function checkAbsence(input: Uint8Array): void {
  const text = Buffer.from(input).toString('latin1');
  const stages = [text];
  for (let bare = text.replace(INNERMOST, ''); bare !== stages.at(-1); bare = bare.replace(INNERMOST, ''))
    stages.push(bare);
  claim(
    stages.some((stage) => /NoSuchKey|&#/.test(stage)),
    'an object is absent without the word for that',
  );
}

function checkSize(sizeBytes: number): void {
  claim(Number.isSafeInteger(sizeBytes) && sizeBytes >= 0, `an object has the size ${sizeBytes}`);
}

async function read(store: S3Store, input: Uint8Array): Promise<void> {
  const bytes = await store.get(NAME, NEVER);
  if (bytes === null) checkAbsence(input);
  else checkBytes(bytes);
}

async function looked(store: S3Store, input: Uint8Array): Promise<void> {
  const found = await store.stat(NAME, NEVER);
  if (found === null) checkAbsence(input);
  else checkSize(found.sizeBytes);
}

async function listed(entries: AsyncIterable<ListedObject>): Promise<void> {
  for await (const entry of entries) {
    const name = 'path' in entry ? entry.path : entry.versionHash;
    claim(/^[\x21-\x7e]+$/.test(name), `a listed name is ${JSON.stringify(name)}`);
    if (entry.sizeBytes !== null) checkSize(entry.sizeBytes);
  }
}

const OPERATIONS: readonly ((input: Uint8Array) => Promise<unknown>)[] = [
  (input) => read(STORE, input),
  (input) => looked(STORE, input),
  () => listed(STORE.list('blobs', NEVER)),
  () => STORE.put(BLOB, 'create', NEVER),
  () => STORE.put(BLOB, 'replace', NEVER),
  () => STORE.delete(NAME, NEVER),
  async (input) => {
    if (!(await STORE.purge(NAME, NEVER))) checkAbsence(input);
  },
  (input) => read(SENTINEL, input),
  () => listed(SENTINEL.list('blobs', NEVER)),
  () => listed(STORE.list({ customOf: null }, NEVER)),
  () => listed(STORE.list({ below: 'occurrences/' }, NEVER)),
  () => STORE.get(RECORD, NEVER),
  () => STORE.put({ path: RECORD, text: '{}' }, 'replace', NEVER),
  () => STORE.put({ ...CUSTOM, bytes: BLOB.bytes }, 'replace', NEVER),
  async () => {
    const { body } = await BUCKET.range('a', { begin: 0, length: 10, etag: null }, NEVER);
    claim(body.length === 10, `a range of 10 bytes has ${body.length}`);
  },
  async () => {
    const upload = await BUCKET.upload('a', 'text/plain', NEVER);
    for (const [part, { sizeBytes }] of upload.uploaded) claim(part > 0 && sizeBytes >= 0, 'a part without a place');
  },
  () => BUCKET.hasObjectLock(NEVER),
  () => STORE.probe(NEVER),
];

async function run(input: Uint8Array): Promise<void> {
  server.play(scriptOf(input));
  await outcomeOf(async () => await OPERATIONS[(input[0] ?? 0) % OPERATIONS.length]?.(input));
  server.assertEnded();
}

const ETAG = { etag: '"0123456789abcdef0123456789abcdef"' };
const XML = { 'content-type': 'application/xml' };
const xml = (text: string, status = '200 OK') =>
  httpAnswer(status, XML, `<?xml version="1.0" encoding="UTF-8"?>${text}`);
const error = (status: string, code: string) =>
  xml(`<Error><Code>${code}</Code><Message>No.</Message></Error>`, status);
const object = httpAnswer('200 OK', ETAG, BLOB.bytes);
const written = httpAnswer('200 OK', ETAG, '');
const head = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Length: 200\r\netag: ${ETAG.etag}\r\nDate: Mon, 23 Nov 2026 06:30:00 GMT\r\n\r\n`,
);
const contents = (...keys: string[]) =>
  keys.map((key) => `<Contents><Key>${key}</Key><Size>200</Size></Contents>`).join('');
const page = (keys: string, more = '') =>
  xml(
    `<ListBucketResult><KeyCount>1</KeyCount><IsTruncated>${more !== ''}</IsTruncated>${more}${keys}</ListBucketResult>`,
  );
const blobKey = `blobs/keccak256/${versionHash}`;
const more = '<NextContinuationToken>2</NextContinuationToken>';
const versions = (and: string) =>
  xml(
    `<ListVersionsResult><IsTruncated>${and !== ''}</IsTruncated>${and}<Version><Key>${blobKey}</Key><VersionId>v1</VersionId></Version><DeleteMarker><Key>${blobKey}</Key><VersionId>v2</VersionId></DeleteMarker></ListVersionsResult>`,
  );
const deleted = httpAnswer('204 No Content', {}, '');
const missing = error('404 Not Found', 'NoSuchKey');
const conflict = error('412 Precondition Failed', 'PreconditionFailed');
const lost = error('503 Slow Down', 'SlowDownRead');
const none = Buffer.from('HTTP/1.1 404 Not Found\r\n\r\n');
const unknown = error('501 Not Implemented', 'NotImplemented');
const other = httpAnswer('200 OK', ETAG, 'other bytes');
const copied = xml('<CopyObjectResult><ETag>"e"</ETag></CopyObjectResult>');

const SEEDS = [
  inputOf(17, [page(''), written, object, deleted]),
  inputOf(0, [object]),
  inputOf(0, [missing]),
  inputOf(0, [chunkedAnswer('200 OK', ETAG, ['ab', 'cd'])], 3),
  inputOf(0, [error('503 Slow Down', 'SlowDown'), object]),
  inputOf(1, [head]),
  inputOf(1, [none, missing]),
  inputOf(2, [page(contents(blobKey, 'blobs/other'), more), page(contents(blobKey))]),
  inputOf(3, [written]),
  inputOf(3, [conflict]),
  inputOf(3, [unknown, none, missing, written]),
  inputOf(4, [conflict, object]),
  inputOf(4, [conflict, other, copied, written]),
  inputOf(4, [conflict, missing, written]),
  inputOf(4, [conflict, ...Array<Uint8Array>(6).fill(lost), written]),
  inputOf(5, [deleted]),
  inputOf(5, [error('403 Forbidden', 'AccessDenied')]),
  inputOf(6, [
    page(contents(blobKey)),
    versions('<NextKeyMarker>k</NextKeyMarker>'),
    versions(''),
    versions(''),
    deleted,
  ]),
  inputOf(6, [page(''), unknown, unknown, none, missing]),
  inputOf(7, [httpAnswer('200 OK', ETAG, Buffer.from(BLOB.bytes).toString('hex'))]),
  inputOf(8, [page(contents(versionHash))]),
  inputOf(9, [page(contents(`custom/${versionHash}/${CUSTOM.keccak}`))]),
  inputOf(10, [page(contents(RECORD))]),
  inputOf(11, [httpAnswer('200 OK', ETAG, '{"version":1}')]),
  inputOf(12, [conflict, other, written]),
  inputOf(13, [written]),
  inputOf(14, [httpAnswer('206 Partial Content', { ...ETAG, 'content-range': 'bytes 0-9/200' }, '0123456789')]),
  inputOf(15, [
    xml(
      '<ListMultipartUploadsResult><Upload><Key>a</Key><UploadId>u</UploadId><Initiated>2026-11-23T00:00:00.000Z</Initiated></Upload></ListMultipartUploadsResult>',
    ),
    xml(
      '<ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>1</NextPartNumberMarker><Part><PartNumber>1</PartNumber><ETag>"e"</ETag><Size>5</Size></Part></ListPartsResult>',
    ),
    xml('<ListPartsResult><IsTruncated>false</IsTruncated></ListPartsResult>'),
  ]),
  inputOf(15, [
    xml('<ListMultipartUploadsResult/>'),
    xml('<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>'),
  ]),
  inputOf(16, [
    xml('<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled></ObjectLockConfiguration>'),
  ]),
  inputOf(16, [error('404 Not Found', 'ObjectLockConfigurationNotFoundError')]),
];

const WORDS = [
  ...[
    '<Key>',
    '</Key>',
    '<Size>',
    '<IsTruncated>true</IsTruncated>',
    '<NextContinuationToken>',
    '<Contents>',
    '<Code>',
  ],
  ...['NoSuchKey', 'NoSuchBucket', 'SlowDown', 'HTTP/1.1 200 OK\r\n', 'HTTP/1.1 503 A\r\n', 'Content-Length: 5\r\n'],
  ...['Transfer-Encoding: chunked\r\n', 'Content-Encoding: gzip\r\n', 'Content-Range: bytes 0-9/10\r\n', 'x-amz-'],
];

test('any answer of an S3 server is what it says, or an error with a code', async () => {
  await explore({ name: 's3-answers', seeds: SEEDS, folders: ['src/storage/'], words: WORDS, run });
}, 36_000_000);
