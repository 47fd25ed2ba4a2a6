import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CatalogError } from '../../src/catalog/errors.ts';
import type { BlobLookup } from '../../src/reading/proven-reader.ts';
import type { UnavailableReason } from '../../src/view/archive-view.ts';
import type { ChainUnavailableReason } from '../../src/view/chain-view.ts';
import { blobOf, bytesOf, FakeArchiveView } from './fake-archive-view.ts';
import { chainUnavailable, FakeChainView } from './fake-chain-view.ts';
import { running } from './harness.ts';
import { altDaFetch, daBatch, daCheck, daFetch } from './live-clients.ts';
import { rolluxTry } from './rollux-client.ts';

const ABSENT = blobOf(bytesOf(4_321)).versionHash;
const BLOB = blobOf(bytesOf(5_000));
const UNFINAL = blobOf(bytesOf(60));

async function archive() {
  const view = new FakeArchiveView();
  const chain = new FakeChainView();
  view.add(BLOB);
  view.add(UNFINAL);
  chain.mine(BLOB, 5);
  chain.mine(UNFINAL, 12);
  const server = await running(view, {}, chain);
  return { view, chain, ...server };
}

/** The belief of each client about a blob that is here and one that never was. */
async function believed(url: string) {
  return {
    rollux: await Promise.all([BLOB.versionHash, ABSENT].map((hash) => rolluxTry(`${url}/vh/`, hash))),
    fetched: await Promise.all([BLOB.versionHash, ABSENT].map((hash) => daFetch(url, hash))),
    checked: await daCheck(url, [BLOB.versionHash, UNFINAL.versionHash, ABSENT]),
    known: await daBatch(url, [BLOB.versionHash, UNFINAL.versionHash, ABSENT]),
    altDa: await Promise.all([BLOB.versionHash, ABSENT].map((hash) => altDaFetch(url, hash))),
  };
}

test('each client gets what it came for while the archive is healthy', async () => {
  const { url } = await archive();
  const bytes = BLOB.bytes;
  expect(await believed(url)).toEqual({
    rollux: [{ kind: 'taken', bytes }, { kind: 'retried' }],
    fetched: [{ kind: 'blob', bytes }, { kind: 'failed' }],
    checked: [true, false, false],
    known: ['final', 'confirmed', 'absent'],
    altDa: [{ kind: 'blob', bytes }, { kind: 'absent' }],
  });
});

/** A fault never costs this: no batch dropped, no wrong bytes, nothing final that is not, nothing absent that may be there. */
function expectNobodyMisled(beliefs: Awaited<ReturnType<typeof believed>>): void {
  const { rollux, fetched, checked, known, altDa } = beliefs;
  expect(rollux.map(({ kind }) => kind)).not.toContain('dropped');
  for (const one of [...rollux, ...fetched, ...altDa]) if ('bytes' in one) expect(one.bytes).toEqual(BLOB.bytes);
  expect(checked.slice(1)).toEqual([false, false]);
  expect(known[0]).not.toBe('absent');
  expect(known[0]).not.toBe('unconfirmed');
  expect(known[1]).not.toBe('final');
  expect(known[1]).not.toBe('absent');
  expect(altDa[0]?.kind).not.toBe('absent');
}

const REASONS: readonly UnavailableReason[] = ['not-fetched-yet', 'damaged', 'store-fault', 'cannot-tell'];
const WRONG: Readonly<Record<string, () => Promise<BlobLookup>>> = {
  'another blob': async () => ({ kind: 'found', blob: UNFINAL }),
  'a fault that passes': async () => {
    throw new CatalogError('catalog/fault', 'Locked.', { retryable: true, hint: '' });
  },
  'a fault that stays': async () => {
    throw new Error('Out of luck.');
  },
};

describe('no client is misled', () => {
  test.each(REASONS)('while the archive says %s', async (reason) => {
    const { view, url } = await archive();
    view.reading = async () => ({ kind: 'unavailable', reason, message: 'Later.', retryAfterSeconds: 1 });
    const beliefs = await believed(url);
    expectNobodyMisled(beliefs);
    expect(beliefs.known).not.toContain('absent');
    expect(beliefs.altDa.map(({ kind }) => kind)).toEqual(['failed', 'failed']);
  });

  test.each(Object.keys(WRONG))('through %s out of the store', async (what) => {
    const { view, url } = await archive();
    view.reading = WRONG[what] ?? null;
    const beliefs = await believed(url);
    expectNobodyMisled(beliefs);
    expect(beliefs.known).not.toContain('absent');
  });

  test.each<ChainUnavailableReason>(['walk-behind', 'rebuilding', 'not-placed', 'not-walked'])(
    'while the chain is %s',
    async (reason) => {
      const { chain, url } = await archive();
      chain.trouble = chainUnavailable(reason);
      const beliefs = await believed(url);
      expectNobodyMisled(beliefs);
      expect(beliefs.known[2]).toBe('error');
    },
  );

  test('through finality by depth instead of a ChainLock', async () => {
    const { chain, url } = await archive();
    chain.byChainLock = false;
    chain.occurrences.splice(0);
    chain.mine(BLOB, 5);
    expect((await daBatch(url, [BLOB.versionHash]))[0]).toBe('confirmed');
  });

  test.each([0, 1, 100, 480, 700, 3_000, 9_000])('through an answer that is cut after %i bytes', async (maxBytes) => {
    const { port } = await archive();
    expectNobodyMisled(await believed(await cuttingProxy(port, maxBytes)));
  });

  test('through a server that is gone', async () => {
    const { server, url } = await archive();
    await server.close();
    const beliefs = await believed(url);
    expectNobodyMisled(beliefs);
    expect(beliefs.known).toEqual(['error', 'error', 'error']);
  });
});

/** Passes so many bytes of every answer on, and then ends the connection. */
async function cuttingProxy(port: number, maxBytes: number): Promise<string> {
  const proxy = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    let left = maxBytes;
    client.pipe(upstream);
    upstream.on('data', (chunk) => {
      const bytes = Buffer.from(chunk);
      client.write(bytes.subarray(0, left));
      left -= bytes.length;
      if (left <= 0) client.destroySoon();
    });
    for (const socket of [client, upstream]) {
      socket.on('error', () => undefined);
      socket.on('close', () => (socket === client ? upstream : client).destroy());
    }
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    proxy.close();
  });
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('No port.');
  return `http://127.0.0.1:${address.port}`;
}
