import { describe, expect, onTestFinished, test } from 'vitest';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { createDevnode, type Devnode } from '../../src/devnode/index.ts';
import { DataPages } from '../../src/node/data-pages.ts';
import { createBlobNode, type Dialect } from '../../src/node/index.ts';
import type { NodeTransport } from '../../src/node/transport.ts';
import { countCalls } from '../e2e/counted-gets.ts';
import { sampleBytes } from '../sample-blobs.ts';

const NEVER = new AbortController().signal;

async function nodesOf(dialect: Dialect) {
  const devnode = await createDevnode({ dialect, workload: null });
  onTestFinished(() => devnode.close());
  const credentials = { user: devnode.username, password: devnode.password };
  const node = createBlobNode({ url: devnode.url, credentials });
  onTestFinished(() => node.close());
  const made = new Map<string, Uint8Array>();
  const submit = (count: number, sizeBytes: number) => {
    for (let one = 0; one < count; one += 1) {
      const bytes = sampleBytes(`page ${made.size}`, sizeBytes);
      made.set(devnode.submitBlob(bytes, { hashType: 'keccak256' }).versionHash, bytes);
    }
  };
  /** Lists pages until one has nothing new, as a thorough sweep does. */
  const sweep = async () => {
    const { entries } = await node.listBlobs({ count: 1_000, from: 0 }, NEVER);
    await node.listBlobs({ count: 1_000, from: entries.length }, NEVER);
    return [...new Map(entries.map((entry) => [entry.versionHash, entry])).values()];
  };
  /** Fetches and verifies the blobs. Returns the requests that the node received. */
  const fetchAll = async (wanted: Parameters<typeof node.fetchBlobs>[0]) => {
    const counted = counting(devnode);
    const outcomes = await node.fetchBlobs(wanted, NEVER);
    for (const [index, outcome] of outcomes.entries()) {
      const expected = made.get(wanted[index]?.versionHash ?? '');
      expect(outcome.kind === 'bytes' && Buffer.compare(outcome.blob.bytes, expected ?? Buffer.alloc(0))).toBe(0);
    }
    return counted();
  };
  return { devnode, node, submit, sweep, fetchAll };
}

function counting(devnode: Devnode) {
  const [gets, lists] = [countCalls(devnode, 'getnevmblobdata'), countCalls(devnode, 'listnevmblobdata')];
  return () => ({ gets: gets.count, lists: lists.count });
}

describe.each(['svc', 'syscoin-4.4'] as const)('pages with data in %s', (dialect) => {
  test('pages replace single gets, for entries in memory and in the store', async () => {
    const { devnode, submit, sweep, fetchAll } = await nodesOf(dialect);
    submit(20, 3_000);
    devnode.chain.cache.flush();
    submit(11, 1_000);
    const listed = await sweep();
    expect(listed).toHaveLength(31);
    const all = await fetchAll(listed);
    expect(all.gets).toBe(0);
    expect(all.lists).toBeLessThanOrEqual(2);
    // The requests are in any order and skip some entries.
    const some = await fetchAll(listed.filter((_, index) => index % 3 === 0).toReversed());
    expect(some.gets).toBe(0);
    expect(some.lists).toBeLessThanOrEqual(3);
  });

  test('a blob that its page lacks, because the list has changed, is fetched alone', async () => {
    const { devnode, submit, sweep, fetchAll } = await nodesOf(dialect);
    submit(24, 500);
    const listed = await sweep();
    // The flush changes the order.
    devnode.chain.cache.flush();
    submit(8, 500);
    const { gets } = await fetchAll(listed.slice(0, 12));
    expect(gets).toBeLessThanOrEqual(12);
    await sweep();
    expect((await fetchAll(listed)).gets).toBe(0);
  });

  test.each([
    { kind: 'rpc-error', code: -1, message: 'no' },
    { kind: 'no-data' },
    { kind: 'half-json', bytes: 4_000 },
    { kind: 'huge-body', bytes: 64 * 1_048_576 },
    { kind: 'odd-hex' },
  ] as const)('a node without pages ($kind) gets single gets and no further page', async (fault) => {
    const { devnode, submit, sweep, fetchAll } = await nodesOf(dialect);
    submit(8, 500);
    const listed = await sweep();
    const broken = devnode.faults.add({ fault, methods: ['listnevmblobdata'] });
    expect((await fetchAll(listed)).gets).toBe(8);
    expect(broken.hits).toBe(1);
    broken.remove();
    if (fault.kind !== 'odd-hex') expect(await fetchAll(listed)).toEqual({ gets: 8, lists: 0 });
  });

  test('a blob that failed before is fetched alone', async () => {
    const { submit, sweep, fetchAll } = await nodesOf(dialect);
    submit(3, 500);
    const [one] = await sweep();
    if (one === undefined) throw new Error('It lists three.');
    expect(await fetchAll([{ ...one, attempts: 1 }])).toEqual({ gets: 1, lists: 0 });
  });
});

test('release 5 is never asked for a page with data', async () => {
  const { submit, sweep, fetchAll } = await nodesOf('syscoin-5');
  submit(12, 500);
  expect(await fetchAll(await sweep())).toEqual({ gets: 12, lists: 0 });
});

/** The places of pages that a node with blobs of these sizes is asked for, as `[count,from,`. */
function askedBy(sizes: readonly number[], hasMpt: boolean) {
  const asked: { body: string; limitBytes: number }[] = [];
  const transport: NodeTransport = {
    name: 'counts',
    send: async ({ body, limitBytes }, read) => {
      asked.push({ body: String(body), limitBytes });
      return read(Buffer.from('{"result":[],"error":null,"id":"listnevmblobdata"}'));
    },
    close: async () => {},
  };
  const entries = sizes.map((sizeBytes, at) => ({
    versionHash: parseVersionHash(String(at).padStart(64, '0')),
    sizeBytes,
    medianTimeSeconds: null,
    txid: null,
  }));
  const pagesFor = async (places: number[]) => {
    const pages = new DataPages(transport, SYSTEM_CLOCK);
    pages.noteListed({ entries, unreadable: 0, hasMpt }, 0);
    pages.noteListed({ entries: [], unreadable: 0, hasMpt: false }, sizes.length);
    asked.length = 0;
    const wanted = places.flatMap((at) => entries[at] ?? []);
    await pages.fetch(wanted, 1_000, NEVER);
    return asked.map(({ body }) => body.replace(/.*"params":/, '').replace(/[{].*/, ''));
  };
  return { asked, pagesFor };
}

test('release 4.4 is recognised before a block has any of its blobs', async () => {
  const { submit, sweep, fetchAll } = await nodesOf('syscoin-4.4');
  submit(20, 50_000);
  const listed = await sweep();
  expect(listed.every(({ medianTimeSeconds }) => medianTimeSeconds === null)).toBe(true);
  // A page from the first entry on would bring 18 others.
  expect(await fetchAll(listed.slice(18))).toEqual({ gets: 2, lists: 0 });
});

test('a page is bounded by bytes and brings few unrequested ones', async () => {
  const sizes = [10, 60_000, 10, 2_000_000, 10, 2_000_000, 2_000_000, 2_000_000];
  const { asked, pagesFor } = askedBy(sizes, false);
  // 60,000 more bytes are cheaper than a call; two million are not. The empty page is not requested again.
  expect(await pagesFor([0, 2])).toEqual(['[3,0,']);
  expect(await pagesFor([4, 2])).toEqual(['[1,2,']);
  // More than 4 MiB do not fit into one page.
  expect(await pagesFor([5, 6, 7])).toEqual(['[2,5,']);
  expect(asked[0]?.limitBytes).toBeLessThan(11_000_000);
});

test('release 4.4 is asked for pages from the first entry on alone, because each costs it every entry before its end', async () => {
  const small = askedBy(Array<number>(300).fill(1_000), true);
  expect(await small.pagesFor([9, 7])).toEqual(['[10,0,']);
  expect(await small.pagesFor([150, 4, 100])).toEqual(['[151,0,']);
  // A page has 256 entries at most. The others are fetched alone.
  expect(await small.pagesFor([256, 290])).toEqual([]);
  expect(await small.pagesFor([3, 256])).toEqual(['[4,0,']);
  const large = askedBy(Array<number>(40).fill(50_000), true);
  expect(await large.pagesFor([20, 21, 22])).toEqual([]);
  // Each of them alone would bring too much, and together they do not.
  expect(await large.pagesFor([3, 4, 5])).toEqual(['[6,0,']);
});
