import { hash } from 'node:crypto';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import type { BlobNode } from '../../src/node/blob-node.ts';
import { createBlobNode, type RpcBlobNode, type TransportOptions } from '../../src/node/index.ts';
import { type Answering, callOf, fakeNode, json, result, rpcError, type Seen } from './fake-node.ts';
import { bodyWithId, recorded } from './recordings.ts';

const HELLO = {
  versionHash: parseVersionHash('afb797712b25b18ec5c6cb72a7972b4740f6afd5ed34fb6709076a69fe802aee'),
  sizeBytes: 29,
  medianTimeSeconds: 1_795_197_852,
  txid: null,
};
const never = new AbortController().signal;

async function nodeThat(answer: Answering, options: Partial<TransportOptions> = {}) {
  const fake = await fakeNode(answer);
  const node = createBlobNode({ url: fake.url, ...options });
  onTestFinished(() => node.close());
  return { fake, node };
}

function made(label: string, sizeBytes: number) {
  const bytes = hash('shake256', label, { outputEncoding: 'buffer', outputLength: sizeBytes });
  return { versionHash: parseVersionHash(hash('sha256', label)), sizeBytes, bytes };
}
type Made = ReturnType<typeof made>;

const getResult = ({ versionHash, bytes }: Made) => ({
  versionhash: versionHash,
  mtp: 1,
  datasize: bytes.length,
  data: bytes.toString('hex'),
});

function batchCalls(seen: Seen): { id: string; hash: string }[] {
  const calls: unknown = JSON.parse(seen.body);
  if (!Array.isArray(calls)) throw new Error('That is no batch.');
  return calls.map((call) => ({ id: String(call.id), hash: String(call.params[0]) }));
}

test('the node client implements the archive’s interface', () => {
  const asArchiveSees = (node: RpcBlobNode): BlobNode => node;
  expect(asArchiveSees).toBeTypeOf('function');
});

describe('single calls', () => {
  test('tip is one getblockchaininfo', async () => {
    const { fake, node } = await nodeThat((response, seen) =>
      json(response, 200, bodyWithId(recorded('chain info'), String(callOf(seen).id))),
    );
    expect(await node.tip(never)).toEqual({
      height: 120,
      hash: '25a319268a754ce3364482034161c7ce5cf3d938de7668c6c667b6a31df152a4',
      medianTimeSeconds: 1_795_197_851,
      syncing: false,
      network: 'regtest',
    });
    expect(fake.seen).toHaveLength(1);
    expect(fake.seen[0]).toMatchObject({ path: '/', contentType: 'text/plain' });
    expect(callOf(fake.seen[0] ?? { path: '', authorization: '', contentType: '', body: '' }).params).toEqual([]);
  });

  test('list entries of release 5, of 4.4 and of the specification have one format', async () => {
    const { node } = await nodeThat((response, seen) =>
      result(response, seen, [
        { versionhash: HELLO.versionHash, mtp: 7, datasize: 29, txid: 'AB'.repeat(32) },
        { versionhash: HELLO.versionHash.toUpperCase(), mpt: 8, datasize: 1 },
        { versionhash: HELLO.versionHash, mpt: 0, datasize: 3 },
        { versionhash: HELLO.versionHash, datasize: 2 },
      ]),
    );
    const { entries, unreadable } = await node.listBlobs({ count: 4, from: 0 }, never);
    expect(unreadable).toBe(0);
    expect(entries).toEqual([
      { versionHash: HELLO.versionHash, sizeBytes: 29, medianTimeSeconds: 7, txid: 'ab'.repeat(32) },
      { versionHash: HELLO.versionHash, sizeBytes: 1, medianTimeSeconds: 8, txid: null },
      // No block has it yet.
      { versionHash: HELLO.versionHash, sizeBytes: 3, medianTimeSeconds: null, txid: null },
      { versionHash: HELLO.versionHash, sizeBytes: 2, medianTimeSeconds: null, txid: null },
    ]);
  });

  test('malformed list entries are counted, and the others are read', async () => {
    const { node } = await nodeThat((response, seen) =>
      result(response, seen, [
        { versionhash: 'zz', datasize: 1 },
        { versionhash: HELLO.versionHash, datasize: 29 },
        { versionhash: HELLO.versionHash, datasize: -1 },
        null,
      ]),
    );
    expect(await node.listBlobs({ count: 5, from: 0 }, never)).toMatchObject({
      entries: [{ versionHash: HELLO.versionHash, sizeBytes: 29 }],
      unreadable: 3,
    });
  });

  test('a recorded blob is fetched', async () => {
    const { node } = await nodeThat((response) =>
      json(response, 200, bodyWithId(recorded('get confirmed by version hash with data'), '0')),
    );
    const [outcome] = await node.fetchBlobs([HELLO], never);
    expect(outcome).toMatchObject({ kind: 'bytes', blob: { versionHash: HELLO.versionHash, hashType: null } });
    if (outcome?.kind === 'bytes') {
      expect(Buffer.from(outcome.blob.bytes).toString()).toBe('hello blob, first of its name');
    }
  });

  test('a repeated fetch uses another connection each time', async () => {
    const blob = made('doubted', 64);
    const sockets = new Set<unknown>();
    const { node } = await nodeThat((response, seen, request) => {
      sockets.add(request.socket);
      result(response, seen, getResult(blob));
    });
    for (let attempts = 1; attempts <= 4; attempts += 1) {
      expect(await node.fetchBlobs([{ ...blob, attempts }], never)).toMatchObject([{ kind: 'bytes' }]);
    }
    expect(sockets.size).toBe(4);
  });

  test.each([1, 1_024, 2_097_152])('fetches of %i bytes reuse their sockets', async (sizeBytes) => {
    // No time passes for the client, which else closes what is idle while the process is held up.
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const one = made('a', sizeBytes);
    const { fake, node } = await nodeThat((response, seen) => result(response, seen, getResult(one)));
    for (let turn = 0; turn < 6; turn += 1) {
      const [outcome] = await node.fetchBlobs([one], never);
      expect(outcome?.kind === 'bytes' && Buffer.compare(outcome.blob.bytes, one.bytes)).toBe(0);
    }
    // undici frees a socket just after the answer is read, so two sockets take turns.
    expect(fake.connections()).toBeLessThanOrEqual(2);
  });

  test('upper case, blanks and another order of fields are read by the strict parser', async () => {
    const one = made('b', 500);
    const hex = one.bytes.toString('hex').toUpperCase();
    const { node } = await nodeThat((response) =>
      json(
        response,
        200,
        `{ "id": "0", "result": { "data" : "${hex}", "datasize": 500, "versionhash": "${one.versionHash}" } }`,
      ),
    );
    const [outcome] = await node.fetchBlobs([one], never);
    expect(outcome?.kind === 'bytes' && Buffer.compare(outcome.blob.bytes, one.bytes)).toBe(0);
  });

  test('only the node’s own answer to this call makes a blob absent', async () => {
    const { node } = await nodeThat((response) =>
      json(response, 500, bodyWithId(recorded('get unknown hash with data'), '0')),
    );
    expect(await node.fetchBlobs([HELLO], never)).toEqual([{ kind: 'absent' }]);
  });

  test('another refusal under the same code is no absence', async () => {
    const { node } = await nodeThat((response) =>
      json(response, 500, bodyWithId(recorded('get txid of a coinbase (no blob)'), '0')),
    );
    expect(await node.fetchBlobs([HELLO], never)).toMatchObject([
      { kind: 'failed', error: { code: 'node/rpc-error', rpcCode: -32602 } },
    ]);
  });

  test('a node that is starting fails the request, not the blob', async () => {
    const { node } = await nodeThat((response, seen) => rpcError(response, seen, -28, 'Loading block index…'));
    await expect(node.fetchBlobs([HELLO], never)).rejects.toMatchObject({ code: 'node/warming-up', retryable: true });
  });

  test.each([
    ['not hex', { data: 'zz'.repeat(29) }, 'node/malformed-answer'],
    ['odd', { data: 'abc' }, 'node/malformed-answer'],
    ['missing', { data: undefined }, 'node/malformed-answer'],
    ['not a string', { data: 5 }, 'node/malformed-answer'],
    ['empty', { data: '', datasize: 0 }, 'node/wrong-blob'],
    ['longer than any blob', { data: 'ab'.repeat(2_097_153) }, 'node/wrong-blob'],
    ['of another version hash', { versionhash: '00'.repeat(32) }, 'node/wrong-blob'],
    ['under no version hash', { versionhash: 7 }, 'node/wrong-blob'],
  ])('data that is %s fails that blob', async (_what, wrong, code) => {
    const right = { versionhash: HELLO.versionHash, datasize: 29, data: 'ab'.repeat(29) };
    const { node } = await nodeThat((response, seen) => result(response, seen, { ...right, ...wrong }));
    expect(await node.fetchBlobs([HELLO], never)).toMatchObject([{ kind: 'failed', error: { code } }]);
  });

  test.each([0, 28, 1e12])('a blob listed with %i bytes that has 29 is given with all of them', async (sizeBytes) => {
    const { node } = await nodeThat((response) =>
      json(response, 200, bodyWithId(recorded('get confirmed by version hash with data'), '0')),
    );
    const [outcome] = await node.fetchBlobs([{ ...HELLO, sizeBytes }], never);
    expect(outcome).toMatchObject({ kind: 'bytes', doubt: null });
    expect(outcome?.kind === 'bytes' && outcome.blob.bytes.length).toBe(29);
  });

  test('a blob listed with 1 byte that has 2 MiB fits when it is fetched alone', async () => {
    const one = made('a', 2_097_152);
    const { node } = await nodeThat((response, seen) => result(response, seen, getResult(one)));
    expect(await node.fetchBlobs([{ ...one, sizeBytes: 1 }], never)).toMatchObject([{ kind: 'bytes' }]);
  });

  test('a silent node is given up long before the limit of the call', async () => {
    const { node } = await nodeThat(() => undefined, { timeouts: { firstByteMs: 30, callMs: 600_000 } });
    await expect(node.fetchBlobs([HELLO], never)).rejects.toMatchObject({ code: 'node/timeout' });
  });

  test('data of another length than the node says is given with a doubt', async () => {
    const { node } = await nodeThat((response, seen) =>
      result(response, seen, { versionhash: HELLO.versionHash, datasize: 29, data: 'ab'.repeat(28) }),
    );
    expect(await node.fetchBlobs([HELLO], never)).toMatchObject([
      { kind: 'bytes', blob: { bytes: { length: 28 } }, doubt: { code: 'node/wrong-blob' } },
    ]);
  });
});

test.each(['syscoin-4.2', 'syscoin-5'] as const)('a stated dialect is not checked: %s', async (dialect) => {
  const fake = await fakeNode((response, seen) => result(response, seen, []));
  const node = createBlobNode({ url: fake.url, dialect });
  onTestFinished(() => node.close());
  const page = node.listBlobs({ count: 1, from: 0 }, never);
  if (dialect === 'syscoin-5') expect(await page).toEqual({ entries: [], unreadable: 0, hasMpt: false });
  else await expect(page).rejects.toMatchObject({ code: 'node/unsupported-operation' });
});

describe('batches', () => {
  const blobs = [made('x', 1), made('y', 3_000), made('z', 100_000), made('w', 3_000)];

  test('batch answers are matched by id in any order', async () => {
    const { fake, node } = await nodeThat((response, seen) => {
      const answers = batchCalls(seen).map(({ id, hash: wanted }) => {
        const blob = blobs.find(({ versionHash }) => versionHash === wanted);
        return { result: blob === undefined ? null : getResult(blob), error: null, id };
      });
      json(response, 200, JSON.stringify(answers.reverse()));
    });
    const outcomes = await node.fetchBlobs(blobs, never);
    expect(
      outcomes.map(
        (one, at) => one.kind === 'bytes' && Buffer.compare(one.blob.bytes, blobs[at]?.bytes ?? Buffer.alloc(0)),
      ),
    ).toEqual([0, 0, 0, 0]);
    expect(fake.seen).toHaveLength(1);
  });

  test('a bad blob does not spoil the others', async () => {
    const { fake, node } = await nodeThat((response, seen) => {
      const [first, second, third] = batchCalls(seen);
      const message = `Could not find blob information for versionhash ${second?.hash}`;
      json(
        response,
        200,
        JSON.stringify([
          { result: { ...getResult(made('x', 1)), data: 'zz' }, error: null, id: first?.id },
          { result: null, error: { code: -32602, message }, id: second?.id },
          { result: getResult(made('z', 100_000)), error: null, id: third?.id },
        ]),
      );
    });
    expect(await node.fetchBlobs(blobs.slice(0, 3), never)).toMatchObject([
      { kind: 'failed', error: { code: 'node/malformed-answer' } },
      { kind: 'absent' },
      { kind: 'bytes' },
    ]);
    expect(fake.seen).toHaveLength(1);
  });

  test('a node that answers a batch with one error fails the request', async () => {
    const { node } = await nodeThat((response) =>
      json(response, 500, '{"result":null,"error":{"code":-28,"message":"Loading"},"id":null}\n'),
    );
    await expect(node.fetchBlobs(blobs, never)).rejects.toMatchObject({ code: 'node/warming-up' });
  });
});
