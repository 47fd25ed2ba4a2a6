import type { ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { blobCid } from '../../../src/core/blob/cid.ts';
import { StorageError } from '../../../src/storage/errors.ts';
import { type IpfsOptions, ipfsOptions } from '../../../src/storage/ipfs/ipfs-options.ts';
import { IpfsStore } from '../../../src/storage/ipfs/ipfs-store.ts';
import { listBlobs } from '../../../src/storage/object-store.ts';
import { NEVER, nameOf, sampleBlob } from '../../sample-blobs.ts';
import { type Behaviour, html, misbehavingServer } from '../misbehaving-server.ts';

const BLOB = sampleBlob('of a misbehaving Kubo', 50_000);
const CID = blobCid(BLOB).toString();

async function against(behave: Behaviour, given: Partial<IpfsOptions> = {}) {
  const { endpoint, asked } = await misbehavingServer(behave);
  const apiUrl = endpoint.replace('http://', 'http://user:very-secret@');
  const store = await IpfsStore.open(ipfsOptions({ apiUrl, ...given }));
  onTestFinished(() => store.close());
  return { store, asked };
}

async function errorOf(work: Promise<unknown>): Promise<StorageError> {
  const outcome: unknown = await work.catch((error: unknown) => error);
  if (outcome instanceof StorageError) return outcome;
  return expect.unreachable(`no storage error: ${String(outcome)}`);
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** Kubo answers every failed command with 500; the words differ. */
function said(message: string): Behaviour {
  return (_, response) => json(response, 500, { Message: message, Code: 0, Type: 'error' });
}

const ANSWERS: readonly [string, Behaviour, string, boolean, RegExp][] = [
  ['a failure', said('leveldb: closed'), 'storage/fault', true, /failed \(\w+: leveldb: closed\)/],
  ['no space', said('write /data/ipfs/blocks/put-1: no space left on device'), 'storage/full', true, /no space left/],
  ['a read-only disk', said('open x: read-only file system'), 'storage/read-only', false, /cannot write/],
  [
    'a hash it does not know',
    said('unrecognized multihash function: keccak-256'),
    'storage/too-old-server',
    false,
    /old/,
  ],
  ['blocks of 1 MiB at most', said('produced block is over 1MiB: big'), 'storage/too-old-server', false, /2 MiB/],
  ['401', (_, r) => void r.writeHead(401).end('Unauthorized'), 'storage/bad-credentials', false, /credentials/],
  ['403', (_, r) => void r.writeHead(403).end('403 - Forbidden'), 'storage/denied', false, /does not permit/],
  ['404', (_, r) => void r.writeHead(404).end('404 page not found'), 'storage/not-kubo', false, /RPC API/],
  ['405', (_, r) => void r.writeHead(405).end('405 - Method Not Allowed'), 'storage/not-kubo', false, /RPC API/],
  ['a gateway page with 502', (_, r) => html(r, 502), 'storage/fault', true, /failed/],
  ['a cut connection', (_, r) => void r.destroy(), 'storage/unreachable', true, /closed the connection/],
];

describe('an IPFS store tells what Kubo says', () => {
  test.each(ANSWERS)('%s', async (_name, behave, code, retryable, words) => {
    const { store } = await against(behave);
    for (const [operations, work] of [
      [['put', 'stat'], () => store.put(BLOB, 'replace', NEVER)],
      [['get'], () => store.get(nameOf(BLOB), NEVER)],
      [['stat'], () => store.stat(nameOf(BLOB), NEVER)],
      [['list'], () => Array.fromAsync(listBlobs(store, NEVER))],
      [['delete'], () => store.delete(nameOf(BLOB), NEVER)],
    ] as const) {
      const error = await errorOf(work());
      expect([error.details['operation'], error.code]).toEqual([expect.toBeOneOf([...operations]), code]);
      expect(error.retryable).toBe(retryable);
      expect(error.message).toMatch(words);
      expect(error.message).toMatch(/^The ipfs store at http:\/\/127\.0\.0\.1:\d+ /);
      expect(error.hint).not.toBe('');
      expect(JSON.stringify([error.message, error.details, error.hint])).not.toContain('very-secret');
    }
  });

  test('"not there" is only what Kubo says offline of the block itself', async () => {
    const { store, asked } = await against(said(`block was not found locally (offline): ipld: could not find ${CID}`));
    expect(await store.get(nameOf(BLOB), NEVER)).toBeNull();
    expect(await store.stat(nameOf(BLOB), NEVER).catch(() => null)).toBeNull();
    expect(asked.filter(({ path }) => path.endsWith('block/get'))).toHaveLength(1);
    const page = await against((_, r) => void r.writeHead(404).end(`could not find ${CID}`));
    expect((await errorOf(page.store.get(nameOf(BLOB), NEVER))).code).toBe('storage/not-kubo');
  });

  test('a listing of pins without the one that was asked for says neither that it is pinned nor that it is not', async () => {
    const { store } = await against(({ path }, response) => {
      if (path.endsWith('pin/ls')) return response.end();
      return json(response, 200, { Key: CID, Size: 50_000 });
    });
    expect((await errorOf(store.stat(nameOf(BLOB), NEVER))).code).toBe('storage/not-kubo');
    expect((await errorOf(store.isKept(nameOf(BLOB), NEVER))).code).toBe('storage/not-kubo');
  });

  test('a block of fewer than no bytes is no answer of Kubo', async () => {
    const pin = `${JSON.stringify({ Cid: CID })}\n`;
    const { store } = await against((one, r) =>
      one.path.endsWith('pin/ls') ? void r.writeHead(200).end(pin) : json(r, 200, { Key: CID, Size: -1 }),
    );
    expect((await errorOf(store.stat(nameOf(BLOB), NEVER))).code).toBe('storage/not-kubo');
  });

  test('a web page with 200 is no answer of Kubo', async () => {
    const { store } = await against((_, r) => html(r, 200));
    for (const work of [
      store.stat(nameOf(BLOB), NEVER),
      store.put(BLOB, 'replace', NEVER),
      Array.fromAsync(listBlobs(store, NEVER)),
    ]) {
      expect((await errorOf(work)).code).toBe('storage/not-kubo');
    }
  });

  test('gives user and password of the address as a header', async () => {
    const { store, asked } = await against(said('could not find bafy'));
    await store.get(nameOf(BLOB), NEVER);
    await store.stat(nameOf(BLOB), NEVER).catch(() => null);
    const expected = `Basic ${Buffer.from('user:very-secret').toString('base64')}`;
    expect(asked.map(({ headers }) => headers.authorization)).toEqual(asked.map(() => expected));
  });
});

describe('an IPFS store before a Kubo that', () => {
  const pin = (cid: string) => `${JSON.stringify({ Cid: cid, Type: 'recursive' })}\n`;

  test('breaks off a listing: the trailer that says so makes it a fault, not a shorter list', async () => {
    const { store } = await against((one, r) => {
      if (!one.path.endsWith('pin/ls')) return json(r, 200, { Key: CID, Size: 50_000 });
      r.writeHead(200, { 'content-type': 'application/json', trailer: 'X-Stream-Error' });
      r.write(pin(CID));
      r.addTrailers({ 'X-Stream-Error': 'datastore closed' });
      r.end();
    });
    const error = await errorOf(Array.fromAsync(listBlobs(store, NEVER)));
    expect(error.message).toContain('failed (list: datastore closed)');
  });

  test('cuts a listing or a block: a fault that a retry can help', async () => {
    const { store } = await against((one, r) => {
      r.writeHead(200, { 'content-type': 'application/json' });
      r.write(one.path.endsWith('pin/ls') ? pin(CID) : BLOB.bytes.subarray(0, 1_000), () => r.destroy());
    });
    expect((await errorOf(Array.fromAsync(listBlobs(store, NEVER)))).retryable).toBe(true);
    expect((await errorOf(store.get(nameOf(BLOB), NEVER))).retryable).toBe(true);
  });

  test('hangs: gives up in time, and an abort ends it with its reason', async () => {
    const { store } = await against(() => {}, { timeoutMs: 150 });
    for (const work of [store.get(nameOf(BLOB), NEVER), store.put(BLOB, 'replace', NEVER)]) {
      expect((await errorOf(work)).code).toBe('storage/timeout');
    }
    const stopping = new AbortController();
    const reason = new Error('shutting down');
    const aborted = await against(() => stopping.abort(reason));
    await expect(aborted.store.get(nameOf(BLOB), stopping.signal)).rejects.toBe(reason);
    await expect(aborted.store.put(BLOB, 'replace', stopping.signal)).rejects.toBe(reason);
    await expect(Array.fromAsync(listBlobs(aborted.store, stopping.signal))).rejects.toBe(reason);
  });

  test('puts the block under another CID: no success', async () => {
    const other = blobCid(sampleBlob('another', 1)).toString();
    const { store } = await against((one, r) =>
      one.path.endsWith('block/put')
        ? json(r, 200, { Key: other, Size: 1 })
        : json(r, 500, { Message: `ipld: could not find ${CID}` }),
    );
    const error = await errorOf(store.put(BLOB, 'replace', NEVER));
    expect(error.message).toContain(`put the block under ${other} instead of ${CID}`);
  });

  test('sends without end: reads no more than one byte too many', async () => {
    const { store } = await against((_, r) => {
      r.writeHead(200);
      const more = () => {
        while (r.write(Buffer.alloc(65_536))) if (r.destroyed) return;
      };
      r.on('drain', more);
      more();
    });
    expect((await store.get(nameOf(BLOB), NEVER))?.length).toBe(2_097_153);
  });

  test('hands out a good block badly once: what is there is left alone', async () => {
    let gets = 0;
    const { store, asked } = await against((one, r) => {
      if (one.path.endsWith('block/get')) {
        gets += 1;
        return void r.writeHead(200).end(gets === 1 ? Buffer.alloc(50_000) : BLOB.bytes);
      }
      json(r, 200, one.path.endsWith('pin/add') ? { Pins: [CID] } : { Key: CID, Size: 50_000 });
    });
    await store.put(BLOB, 'replace', NEVER);
    expect(asked.map(({ path }) => path.replace('/api/v0/', ''))).toEqual([
      'block/stat',
      'block/get',
      'block/get',
      'pin/add',
    ]);
  });

  test('is too old for 2 MiB: the probe says so, and looks at the rest', async () => {
    const { store } = await against((one, r) => {
      if (one.path.endsWith('version')) return json(r, 200, { Version: '0.20.0' });
      if (one.body.length > 1_100_000)
        return said('produced block is over 1MiB: big blocks cannot be exchanged')(one, r);
      json(r, 500, { Message: 'ipld: could not find bafy' });
    });
    const findings = new Map((await store.probe(NEVER)).map((finding) => [finding.check, finding]));
    expect(findings.get('large-block')).toMatchObject({
      grade: 'fault',
      sentence: expect.stringContaining('too old: it does not take blocks of 2 MiB'),
      hint: expect.stringContaining('Update Kubo'),
    });
    expect(findings.get('missing-block')?.grade).toBe('good');
  });
});
