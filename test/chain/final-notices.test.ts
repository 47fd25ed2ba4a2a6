import { expect, test } from 'vitest';
import type { PlacedOccurrence } from '../../src/catalog/occurrence-table.ts';
import type { Subscription } from '../../src/catalog/subscription-ledger.ts';
import { FinalNotices } from '../../src/chain/final-notices.ts';
import type { NotTaken, SignedPost } from '../../src/core/alerts/signed-sender.ts';
import { type ContentName, parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { nameOf, sampleBlob } from '../sample-blobs.ts';

const BLOB = sampleBlob('waited for', 100);
const NAME = { versionHash: BLOB.versionHash, hashType: null };
const URL_OF_ROLLUP = 'https://rollup.example/hooks/token-never-to-be-seen';

function occurrenceAt(height: number): PlacedOccurrence {
  const blockHash = parseBlockHash(height.toString(16).padStart(64, 'a'));
  const place = { height, transactionIndex: 1, txid: parseTxId('7'.repeat(64)), vout: 0 };
  return { ...nameOf(BLOB), ...place, blockHash, medianTimeSeconds: 1 };
}

/** An archiver whose catalog outlives it. Time passes only while it waits. */
function archiver(ledger = new Map<string, Subscription>()) {
  let nowMs = 1_000_000;
  const mined = new Map<string, PlacedOccurrence>();
  const state: { finalHeight: number | null; isCurrent: boolean } = { finalHeight: null, isCurrent: true };
  const receiver: { refuses: (post: SignedPost) => NotTaken | null; isDiskFull: boolean; takesMs: number } = {
    refuses: () => null,
    isDiskFull: false,
    takesMs: 0,
  };
  const posts: SignedPost[] = [];
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), () => nowMs);
  const waits: { wait: (ms: number) => Promise<void>; count: number } = { wait: async () => {}, count: 0 };
  const chain = {
    get finalHeight() {
      return state.finalHeight;
    },
    get isCurrent() {
      return state.isCurrent;
    },
    moved: { notifications: 0, notify: () => {}, wait: (ms: number) => waits.wait(ms) },
  };
  const notices = new FinalNotices({
    archiverId: 'ab'.repeat(8),
    finality: 'chainlock',
    chain,
    catalog: {
      chain: {
        occurrences: ({ hashType }: ContentName) => [...mined.values()].filter((one) => one.hashType === hashType),
      },
      subscriptions: {
        all: () => [...ledger.values()],
        put: (subscription) => void ledger.set(subscription.id, subscription),
        remove(id) {
          if (receiver.isDiskFull) throw new Error('The disk is full.');
          ledger.delete(id);
        },
      },
    },
    archive: { record: async () => ({ kind: 'withheld', at: null, publicReason: null }) },
    sender: {
      async send(post) {
        nowMs += receiver.takesMs;
        const refusal = receiver.refuses(post);
        posts.push(post);
        return refusal;
      },
    },
    conditions,
    clock: { wallMs: () => nowMs, steadyMs: () => nowMs },
  });
  const pass = async (seconds: number) => {
    const stopping = new AbortController();
    const untilMs = nowMs + seconds * 1_000;
    waits.wait = async (ms) => {
      nowMs += ms;
      waits.count += 1;
      if (nowMs >= untilMs) stopping.abort();
    };
    await notices.run(stopping.signal);
  };
  return { chain: state, conditions, ledger, mined, notices, pass, posts, receiver, waits };
}

const codes = (conditions: ConditionBoard) => conditions.standing().map(({ code }) => code);

test('a subscriber is told once, and only when the walk is current and the block is final', async () => {
  const { chain, ledger, mined, notices, pass, posts } = archiver();
  const { id, secret, ...entry } = notices.subscribe(NAME, URL_OF_ROLLUP);
  expect(entry).toMatchObject({ versionHash: BLOB.versionHash, receiver: 'https://rollup.example', undelivered: null });
  await pass(60);
  mined.set('first', occurrenceAt(100));
  await pass(60);
  chain.finalHeight = 99;
  await pass(60);
  Object.assign(chain, { finalHeight: 100, isCurrent: false });
  await pass(60);
  expect(posts).toEqual([]);
  chain.isCurrent = true;
  await pass(600);
  expect(posts.map((post) => [post.id, post.url, post.secret])).toEqual([[id, URL_OF_ROLLUP, secret]]);
  expect(JSON.parse(posts[0]?.body ?? '')).toEqual({
    version: 1,
    id,
    event: 'final',
    at: expect.any(String),
    archiver: 'ab'.repeat(8),
    ...nameOf(BLOB),
    txid: '7'.repeat(64),
    vout: 0,
    height: 100,
    blockHash: occurrenceAt(100).blockHash,
    finality: 'chainlock',
    state: 'withheld',
  });
  expect([notices.list(), ledger.size]).toEqual([[], 0]);
});

test('a block that a reorganisation takes away before it is final is not told of', async () => {
  const { chain, mined, notices, pass, posts } = archiver();
  notices.subscribe(NAME, URL_OF_ROLLUP);
  mined.set('first', occurrenceAt(100));
  await pass(60);
  mined.clear();
  chain.finalHeight = 100;
  await pass(60);
  mined.set('again', occurrenceAt(102));
  await pass(60);
  expect(posts).toEqual([]);
  chain.finalHeight = 102;
  await pass(60);
  expect(posts.map(({ body }) => JSON.parse(body).height)).toEqual([102]);
});

test('a receiver that does not answer is tried again with the same id, keeps no other waiting, and is a condition', async () => {
  const { chain, conditions, mined, notices, pass, posts, receiver } = archiver();
  mined.set('first', occurrenceAt(100));
  chain.finalHeight = 100;
  const away = notices.subscribe(NAME, URL_OF_ROLLUP);
  const other = notices.subscribe(NAME, 'http://other.example/');
  receiver.refuses = ({ url }) => (url === URL_OF_ROLLUP ? { why: 'it answered 500', status: 500 } : null);
  await pass(120);
  const tries = posts.filter(({ id }) => id === away.id);
  expect(tries.length).toBeGreaterThan(2);
  expect(posts.filter(({ id }) => id === other.id)).toHaveLength(1);
  expect(codes(conditions)).toEqual(['subscription/not-delivered']);
  expect(JSON.stringify([conditions.standing(), notices.list()])).not.toContain('never-to-be-seen');
  expect(notices.list()).toMatchObject([{ id: away.id, undelivered: { tries: tries.length, why: 'it answered 500' } }]);
  receiver.refuses = () => null;
  await pass(1_000);
  expect(notices.list()).toEqual([]);
  expect(codes(conditions)).toEqual([]);
});

test('a receiver that has rested while nothing is due lets the loop sleep, and is tried again later', async () => {
  const { chain, mined, notices, pass, posts, receiver, waits } = archiver();
  mined.set('first', occurrenceAt(100));
  chain.finalHeight = 100;
  notices.subscribe(NAME, URL_OF_ROLLUP);
  receiver.refuses = () => ({ why: 'it answered 500', status: 500 });
  await pass(1);
  // The node is away for longer than the receiver rests.
  chain.isCurrent = false;
  waits.count = 0;
  await pass(600);
  expect([posts.length, waits.count < 30]).toEqual([1, true]);
  chain.isCurrent = true;
  receiver.refuses = () => null;
  await pass(60);
  expect([posts.length, notices.list()]).toEqual([2, []]);
});

test('a slow receiver of many notices keeps no other waiting for the last of them', async () => {
  const { chain, mined, notices, pass, posts, receiver } = archiver();
  mined.set('first', occurrenceAt(100));
  chain.finalHeight = 100;
  const names = Array.from({ length: 20 }, (_, index) => sampleBlob(`batch ${index}`, 100).versionHash);
  for (const versionHash of names) notices.subscribe({ versionHash, hashType: null }, URL_OF_ROLLUP);
  receiver.takesMs = 9_000;
  receiver.refuses = () => {
    notices.subscribe(NAME, 'http://other.example/');
    receiver.refuses = () => null;
    return null;
  };
  await pass(600);
  expect(posts).toHaveLength(21);
  expect(posts.findIndex(({ url }) => url === 'http://other.example/')).toBeLessThan(10);
});

test('a receiver gets no further notice after the walk has fallen behind', async () => {
  const { chain, mined, notices, pass, posts, receiver } = archiver();
  mined.set('first', occurrenceAt(100));
  chain.finalHeight = 100;
  for (const label of ['a', 'b']) {
    const { versionHash } = sampleBlob(label, 100);
    notices.subscribe({ versionHash, hashType: null }, URL_OF_ROLLUP);
  }
  receiver.refuses = () => {
    chain.isCurrent = false;
    return null;
  };
  await pass(60);
  expect(posts).toHaveLength(1);
});

test('a subscription that is taken back while its notice is posted leaves no receiver that rests', async () => {
  const { chain, mined, notices, pass, receiver } = archiver();
  mined.set('first', occurrenceAt(100));
  chain.finalHeight = 100;
  const { id } = notices.subscribe(NAME, URL_OF_ROLLUP);
  receiver.refuses = () => {
    notices.cancel(id);
    return { why: 'it answered 500', status: 500 };
  };
  await pass(1);
  expect(notices.subscribe(NAME, URL_OF_ROLLUP).undelivered).toBeNull();
});

test('a subscription outlives a restart, and a delivered one that the catalog could not forget is not told again', async () => {
  const before = archiver();
  const { id, secret } = before.notices.subscribe(NAME, URL_OF_ROLLUP);
  const { chain, ledger, mined, notices, pass, posts, receiver } = archiver(before.ledger);
  expect(notices.list().map((one) => one.id)).toEqual([id]);
  expect(notices.subscribe(NAME, URL_OF_ROLLUP)).toMatchObject({ id, secret });
  mined.set('first', occurrenceAt(100));
  chain.finalHeight = 100;
  receiver.isDiskFull = true;
  await pass(60);
  expect([posts.length, ledger.size]).toEqual([1, 1]);
  receiver.isDiskFull = false;
  await pass(60);
  expect([posts.length, ledger.size, notices.list()]).toEqual([1, 0, []]);
});

test('the bound of subscriptions refuses one more, and one that is taken back makes room', () => {
  const { ledger, notices } = archiver();
  const ids = Array.from(
    { length: notices.max },
    (_, index) => notices.subscribe(NAME, `http://r.example/${index}`).id,
  );
  expect(() => notices.subscribe(NAME, 'http://r.example/more')).toThrow(
    expect.objectContaining({ code: 'subscriptions/full' }),
  );
  expect(notices.cancel(ids[3] ?? '').id).toBe(ids[3]);
  expect(() => notices.cancel(ids[3] ?? '')).toThrow(expect.objectContaining({ code: 'subscriptions/unknown' }));
  notices.subscribe(NAME, 'http://r.example/more');
  expect(ledger.size).toBe(notices.max);
});
