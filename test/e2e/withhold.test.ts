import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Devnode } from '../../src/devnode/index.ts';
import { listBlobs, listDocuments, readText } from '../../src/storage/object-store.ts';
import { S3Store } from '../../src/storage/s3/s3-store.ts';
import { atEndOfTest } from '../cleanup.ts';
import { NEVER, sampleBytes } from '../sample-blobs.ts';
import { describeWithServers, SERVER_START_MS } from '../servers/availability.ts';
import { type S3Server, startS3Server } from '../servers/s3-server.ts';
import { newBucket } from '../storage/s3/s3-fixture.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import {
  environmentOf,
  type RunningArchive,
  startArchive,
  startArchiveHere,
  startNode,
  stop,
  untilStored,
} from './archive-process.ts';
import { s3Environment, untilDrained } from './backends/real-backends.ts';
import { countGets } from './counted-gets.ts';
import { eventually } from './eventually.ts';
import { holdfastHere } from './holdfast-here.ts';
import { holdfast } from './holdfast-process.ts';
import { startReaderHere } from './serve/reader-process.ts';

const status = z.looseObject({ withheld: z.object({ count: z.number(), others: z.array(z.string()) }) });

/** Two blobs, final. */
async function nodeWithBlobs(): Promise<{ node: Devnode; taken: string; other: string; txid: string }> {
  const node = await startNode();
  const { versionHash: taken, txid } = node.submitLabelled({
    label: 'taken down',
    sizeBytes: 9_000,
    hashType: 'keccak256',
  });
  const { versionHash: other } = node.submitLabelled({ label: 'other', sizeBytes: 700, hashType: 'keccak256' });
  node.mine(12);
  return { node, taken, other, txid };
}

async function post(daemon: RunningArchive, path: string, body: unknown) {
  const response = await fetch(`${daemon.client.url}${path}`, { method: 'POST', body: JSON.stringify(body) });
  return { status: response.status, body: z.unknown().parse(await response.json()) };
}

const codes = async (daemon: { client: RunningArchive['client'] }, paths: readonly string[]) =>
  await Promise.all(paths.map(async (path) => (await daemon.client.get(path)).status));

/** Until what is mined is final as well, so that check_vh can say true. */
async function untilSafe(daemon: RunningArchive, hash: string): Promise<void> {
  await eventually(async () => expect((await post(daemon, '/check_vh', [hash])).body).toEqual([true]));
}

describe('a blob that was taken down', () => {
  test('is 451 on every route of bytes, false to check_vh alone, and neither lost nor missing; after kill -9 too', async () => {
    const { node, taken, other, txid } = await nodeWithBlobs();
    const setup = { dataDir: temporaryFolder(), node };
    const env = environmentOf(setup);
    let daemon = await startArchive(setup);
    await untilStored(daemon, 2);
    await untilSafe(daemon, taken);
    const lastBlock = (await daemon.client.get('/lastblock')).body.toString();
    const before = await holdfastHere(['withhold', '--list'], { env });
    expect(before).toMatchObject({ code: 0, stdout: 'Nothing is withheld.\n' });
    const done = await holdfast(['withhold', taken, '--reason', 'court order 17'], { env });
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(done.stdout).toMatch(new RegExp(`^withheld keccak256 ${taken} since .* by [0-9a-f]{16}: court order 17\n$`));

    const look = async () => {
      const routes = ['/v1/blobs/', '/vh/', '/get/0x00'].map((route) => `${route}${taken}`);
      expect(await codes(daemon, routes)).toEqual([451, 451, 451]);
      expect(await codes(daemon, [`/v1/transactions/${txid}/data`, `/v1/blobs/${taken}/proof`])).toEqual([451, 451]);
      const head = await fetch(`${daemon.client.url}/v1/blobs/${taken}`, { method: 'HEAD' });
      const part = await daemon.client.get(`/v1/blobs/${taken}`, { range: 'bytes=0-9' });
      expect([head.status, part.status]).toEqual([451, 451]);
      expect(await daemon.client.problem(`/v1/blobs/${taken}`)).toMatchObject({
        type: 'application/problem+json',
        code: 'blob/withheld',
      });
      expect(await daemon.client.record(taken)).toMatchObject({ state: 'withheld', replicas: [] });
      expect((await daemon.client.blob(other)).status).toBe(200);
      await untilSafe(daemon, other);
      expect((await post(daemon, '/check_vh', [other, taken])).body).toEqual([true, false]);
      const rpc = await post(daemon, '/', { id: 1, method: 'getnevmblobdata', params: [taken, true] });
      expect([rpc.status, rpc.body]).toMatchObject([503, { result: null, error: { code: -32603 } }]);
      const listed = await post(daemon, '/', { id: 1, method: 'listnevmblobdata', params: [] });
      expect(JSON.stringify(listed.body)).not.toContain(taken);
      expect((await daemon.client.get('/lastblock')).body.toString()).toBe(lastBlock);
      const audit = await holdfastHere(['check', '--chain', '--json'], { env });
      expect([audit.code, JSON.parse(audit.stdout)]).toMatchObject([
        0,
        { occurrences: { stored: 1, withheld: 1, lost: 0, pending: 0 }, isComplete: true },
      ]);
      expect((await holdfastHere(['check', '--read-data'], { env })).code).toBe(0);
      expect(status.parse(JSON.parse((await daemon.client.get('/v1/status')).body.toString())).withheld.count).toBe(1);
    };
    await look();
    await stop(daemon, 'SIGKILL');
    daemon = await startArchive(setup);
    await eventually(async () => expect((await daemon.client.get('/lastblock')).status).toBe(200));
    await look();

    const back = await holdfast(['withhold', taken, '--revoke'], { env });
    expect(back).toMatchObject({ code: 0, stderr: '' });
    expect(back.stdout).toContain('Good copies: local');
    expect((await daemon.client.blob(taken)).body.equals(Buffer.from(sampleBytes('taken down', 9_000)))).toBe(true);
    await untilSafe(daemon, taken);
    const again = await holdfast(['withhold', taken, '--revoke'], { env });
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining(`${taken} is not withheld.`)]);
  });

  test('tells everybody the reason for publication, and the private one only to those with a right to it', async () => {
    const { node, taken, txid } = await nodeWithBlobs();
    const setup = { dataDir: temporaryFolder(), node };
    const env = environmentOf(setup);
    const daemon = await startArchiveHere(setup);
    await untilStored(daemon, 2);
    // Stored from the list, it can be without a block that was walked, and which blob a transaction has is then unknown.
    await eventually(async () => expect(await codes(daemon, [`/v1/transactions/${txid}`])).toEqual([200]));
    const words = ['withhold', taken, '--reason', 'sealed order 17', '--public-reason', 'Removed by a court in X.'];
    const done = await holdfastHere(words, { env });
    expect([done.code, done.stdout]).toEqual([
      0,
      expect.stringMatching(/: sealed order 17; publicly: Removed by a court in X\.\n$/),
    ]);
    const bytes = ['/v1/blobs/', '/vh/', '/raw/vh/', '/get/0x00'].map((route) => `${route}${taken}`);
    for (const path of [...bytes, `/v1/blobs/${taken}/proof`, `/v1/transactions/${txid}/data`]) {
      const answer = await daemon.client.get(path);
      expect([path, answer.status, JSON.parse(answer.body.toString())]).toMatchObject([
        path,
        451,
        { publicReason: 'Removed by a court in X.' },
      ]);
    }
    const record: unknown = JSON.parse((await daemon.client.get(`/v1/blobs/${taken}/record`)).body.toString());
    expect(record).toMatchObject({ state: 'withheld', publicReason: 'Removed by a court in X.' });
    const rpc = await post(daemon, '/', { id: 1, method: 'getnevmblobdata', params: [taken, true] });
    expect(rpc.body).toMatchObject({
      error: { message: 'The operator withholds the blob: Removed by a court in X.' },
    });
    const open = ['/v1/status', '/v1/window', '/v1/blobs', '/metrics', '/readyz', '/openapi.json', '/'];
    const ofIt = [`/v1/blobs/${taken}/record`, `/v1/transactions/${txid}`, ...bytes];
    for (const path of [...open, ...ofIt]) {
      expect([path, (await daemon.client.get(path)).body.toString()]).toEqual([
        path,
        expect.not.stringContaining('sealed'),
      ]);
    }
    expect(JSON.stringify(rpc.body)).not.toContain('sealed');
    const listed = await holdfastHere(['withhold', '--list', '--json'], { env });
    expect(JSON.parse(listed.stdout)).toMatchObject({
      withheld: [{ reason: 'sealed order 17', publicReason: 'Removed by a court in X.' }],
    });
    const twoLines = await holdfastHere(['withhold', taken, '--reason', 'x', '--public-reason', 'a\nb'], { env });
    expect([twoLines.code, twoLines.stderr]).toEqual([2, expect.stringContaining('one line')]);
  });

  test('with its bytes purged is fetched again when it is let in, while the node has it', async () => {
    const { node, taken } = await nodeWithBlobs();
    const setup = { dataDir: temporaryFolder(), node };
    const env = environmentOf(setup);
    const daemon = await startArchiveHere(setup);
    await untilStored(daemon, 2);
    const purged = await holdfastHere(['withhold', taken, '--reason', 'x', '--purge', '--json'], { env });
    expect([purged.code, JSON.parse(purged.stdout)]).toMatchObject([
      0,
      { purged: [{ place: 'local', outcome: 'deleted' }], undelivered: {} },
    ]);
    const gets = countGets(node);
    const back = await holdfastHere(['withhold', taken, '--revoke'], { env });
    expect(back.stdout).toContain('No good copy was found');
    await eventually(async () => expect((await daemon.client.blob(taken)).status).toBe(200));
    expect(gets.count).toBe(1);
  });

  test('before the node ever listed it is never asked for', async () => {
    const node = await startNode();
    const known = await startNode();
    const name = known.submitLabelled({ label: 'not yet', sizeBytes: 500, hashType: 'keccak256' }).versionHash;
    const setup = { dataDir: temporaryFolder(), node };
    const gets = countGets(node, name);
    const daemon = await startArchiveHere(setup);
    await holdfastHere(['withhold', name, '--reason', 'known in advance'], { env: environmentOf(setup) });
    node.submitLabelled({ label: 'not yet', sizeBytes: 500, hashType: 'keccak256' });
    node.submitLabelled({ label: 'wanted', sizeBytes: 500, hashType: 'keccak256' });
    node.mine(3);
    await untilStored(daemon, 1);
    expect(gets.count).toBe(0);
    expect((await daemon.client.blob(name)).status).toBe(451);
    expect((await daemon.client.get(`/v1/blobs/${name}/record`)).status).toBe(451);
  });

  test('is recorded without a daemon as well', async () => {
    const { node, taken } = await nodeWithBlobs();
    const setup = { dataDir: temporaryFolder(), node };
    const daemon = await startArchiveHere(setup);
    await untilStored(daemon, 2);
    await stop(daemon);
    const done = await holdfastHere(['withhold', taken, '--reason', 'alone', '--purge'], { env: environmentOf(setup) });
    expect([done.code, done.stderr]).toEqual([0, '']);
    const next = await startArchiveHere(setup);
    expect((await next.client.blob(taken)).status).toBe(451);
  });

  test.each([
    [['withhold'], 'Give a version hash'],
    [['withhold', 'ab'.repeat(32)], 'Give a version hash'],
    [['withhold', 'ab'.repeat(32), '--purge'], 'Give a version hash'],
    [['withhold', 'ab'.repeat(32), '--public-reason', 'x'], 'Give a version hash'],
    [['withhold', '--reason', 'x'], 'Name the version hash'],
    [['withhold', 'zz', '--reason', 'x'], 'version hash'],
    [['withhold', 'ab'.repeat(32), '--list'], '--list takes no version hash'],
    [['withhold', 'ab'.repeat(32), '--reason', 'x', '--revoke'], 'Give a version hash'],
  ])('%j is a usage error', async (words, says) => {
    const { code, stderr } = await holdfastHere(words, { env: { HOLDFAST_DATA_DIR: temporaryFolder() } });
    expect([code, stderr]).toEqual([2, expect.stringContaining(says)]);
  });
});

describeWithServers('a take-down on a shared bucket', () => {
  let s3: S3Server;
  let locking: S3Server;
  beforeAll(async () => {
    [s3, locking] = await Promise.all([startS3Server(), startS3Server({ versioning: true })]);
  }, SERVER_START_MS);
  afterAll(async () => {
    await Promise.all([s3?.stop(), locking?.stop()]);
  });

  test('is honoured by every archiver and reader of it, outlives the folder of who said it, and ends when it is revoked', async () => {
    const { node, taken, other } = await nodeWithBlobs();
    const { options, env } = await s3Environment(s3);
    const store = await S3Store.open(options);
    atEndOfTest(() => store.close());
    const first = { dataDir: temporaryFolder(), node, env };
    const daemon = await startArchiveHere(first);
    await untilStored(daemon, 2);
    await untilDrained(daemon, ['s3']);
    const done = await holdfastHere(
      ['withhold', taken, '--reason', 'shared', '--public-reason', 'Said in X.', '--purge', '--json'],
      {
        env: environmentOf(first),
      },
    );
    expect(done.code).toBe(0);
    const said = JSON.parse(done.stdout);
    expect(said.purged).toMatchObject([{ place: 'local' }, { place: 's3', outcome: 'deleted' }]);
    const archiver = z.string().parse(said.withheld[0].archiver);
    const name = { hashType: 'keccak256', versionHash: z.string().parse(said.withheld[0].versionHash) } as const;
    const record = await Array.fromAsync(listDocuments(store, `audit/${archiver}/withheld/`, NEVER));
    expect(record.map(({ path }) => path)).toEqual([`audit/${archiver}/withheld/${name.hashType}/${taken}.json`]);

    const second = { dataDir: temporaryFolder(), node, env };
    const standby = await startArchiveHere(second);
    await eventually(async () => expect((await standby.client.blob(taken)).status).toBe(451));
    await untilStored(standby, 1);
    const refused = await holdfastHere(['withhold', taken, '--revoke'], { env: environmentOf(second) });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`by the archiver ${archiver}`)]);
    const reader = await startReaderHere(env);
    await eventually(async () =>
      expect(await codes(reader, [`/v1/blobs/${taken}`, `/v1/blobs/${other}`])).toEqual([451, 200]),
    );
    for (const one of [standby, reader]) {
      const answer = JSON.parse((await one.client.get(`/v1/blobs/${taken}`)).body.toString());
      expect(answer).toMatchObject({ publicReason: 'Said in X.' });
      expect(JSON.stringify(answer)).not.toContain('shared');
    }
    expect((await Array.fromAsync(listBlobs(store, NEVER))).map(({ versionHash }) => versionHash)).toEqual([other]);

    const back = await holdfastHere(['withhold', taken, '--revoke'], { env: environmentOf(first) });
    expect(back.code).toBe(0);
    await untilStored(daemon, 2);
    await untilDrained(daemon, ['s3']);
    // The others read the records again every few minutes; a start is a reading too.
    await stop(standby);
    const again = await startArchiveHere(second);
    await eventually(async () => expect((await again.client.blob(taken)).status).toBe(200));
    const revoked = await readText(store, record[0]?.path ?? raise(), NEVER);
    expect(JSON.parse(revoked ?? '')).toMatchObject({ revokedAt: expect.stringMatching(/Z$/) });
  });

  test('says where object lock forbids a purge; the bytes are withheld all the same', async () => {
    const { node, taken } = await nodeWithBlobs();
    const { bucket } = await newBucket(locking, { objectLock: { mode: 'COMPLIANCE', days: 1 } });
    const { env } = await s3Environment(locking);
    const lock = { HOLDFAST_S3_OBJECT_LOCK_DAYS: '1', HOLDFAST_S3_OBJECT_LOCK_MODE: 'COMPLIANCE' };
    const setup = { dataDir: temporaryFolder(), node, env: { ...env, HOLDFAST_S3_BUCKET: bucket, ...lock } };
    const daemon = await startArchiveHere(setup);
    await untilStored(daemon, 2);
    await untilDrained(daemon, ['s3']);
    const locked = await holdfastHere(['withhold', taken, '--reason', 'x', '--purge'], { env: environmentOf(setup) });
    expect(locked.code).toBe(3);
    expect(locked.stdout).toMatch(/^s3: locked: .*object lock/m);
    expect((await daemon.client.blob(taken)).status).toBe(451);
  });
});

function raise(): never {
  throw new Error('the record is not there');
}
