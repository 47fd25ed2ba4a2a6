import { describe, expect, test } from 'vitest';
import type { NamedHash } from '../../src/core/blob/ids.ts';
import type { RecordLookup } from '../../src/view/archive-view.ts';
import { blobOf, bytesOf, FakeArchiveView } from './fake-archive-view.ts';
import { chainUnavailable, FakeChainView } from './fake-chain-view.ts';
import { injectable } from './harness.ts';
import { NO_CHAIN } from './no-chain.ts';

const ABSENT = 'ab'.repeat(32);

function archive() {
  const view = new FakeArchiveView();
  const chain = new FakeChainView();
  const blob = view.add(blobOf(bytesOf(300)));
  const mined = chain.mine(blob);
  return { view, chain, blob, mined, ...injectable(view, chain) };
}

describe('transactions', () => {
  test('say where they are and what they commit to', async () => {
    const { inject, mined, blob } = archive();
    const { final: _, ...facts } = mined;
    expect((await inject(`/v1/transactions/${mined.txid}`)).json()).toEqual({ ...facts, state: 'final' });
    const data = await inject({ url: `/v1/transactions/0x${mined.txid}/data`, headers: { range: 'bytes=0-9' } });
    expect([data.statusCode, data.headers['cache-control']]).toEqual([206, 'no-cache']);
    expect(data.rawPayload).toEqual(Buffer.from(blob.bytes.subarray(0, 10)));
  });

  test.each(['', '/data'])('404 only while the walk is current: %s', async (tail) => {
    const { inject, chain } = archive();
    expect((await inject(`/v1/transactions/${ABSENT}${tail}`)).json()).toMatchObject({
      status: 404,
      code: 'transaction/absent',
    });
    chain.trouble = chainUnavailable('walk-behind');
    const later = await inject(`/v1/transactions/${ABSENT}${tail}`);
    expect([later.statusCode, later.headers['retry-after']]).toEqual([503, '7']);
    expect((await inject('/v1/transactions/zz')).json()).toMatchObject({ code: 'malformed/txid' });
  });
});

describe('blocks', () => {
  test('is found by height and by hash', async () => {
    const { inject, mined } = archive();
    const block = (await inject('/v1/blocks/5')).json();
    expect(block).toMatchObject({ height: 5, state: 'final', occurrences: [{ txid: mined.txid }] });
    expect((await inject(`/v1/blocks/${block.hash}`)).json()).toEqual(block);
    expect((await inject('/v1/blocks/99')).json()).toMatchObject({ code: 'block/absent' });
    expect((await inject('/v1/blocks/-1')).json()).toMatchObject({ code: 'malformed/block-hash' });
  });
});

describe('proofs', () => {
  test('are 503 before there is one, and 404 for what is absent', async () => {
    const { inject, chain, blob } = archive();
    chain.proving = chainUnavailable('not-final');
    expect((await inject(`/v1/blobs/${blob.versionHash}/proof`)).json()).toMatchObject({ code: 'chain/not-final' });
    chain.proving = { kind: 'absent' };
    expect((await inject(`/v1/blobs/${blob.versionHash}/proof`)).json()).toMatchObject({ status: 503 });
    expect((await inject(`/v1/blobs/${ABSENT}/proof`)).json()).toMatchObject({ status: 404, code: 'blob/absent' });
  });
});

describe('occurrences of a record', () => {
  test('page by the cursor of the page before', async () => {
    const asked: (string | undefined)[] = [];
    class Paging extends FakeArchiveView {
      override async record(name: NamedHash, signal: AbortSignal, after?: string): Promise<RecordLookup> {
        asked.push(after);
        const lookup = await super.record(name, signal);
        if (lookup.kind !== 'found' || after !== undefined) return lookup;
        return { kind: 'found', record: { ...lookup.record, nextOccurrences: '5-1' } };
      }
    }
    const view = new Paging();
    const { versionHash } = view.add(blobOf(bytesOf(3)));
    const { inject } = injectable(view);
    const url = `/v1/blobs/${versionHash}/record`;
    const { nextOccurrences } = (await inject(url)).json();
    expect((await inject(`${url}?after=${nextOccurrences}`)).json()).toMatchObject({ nextOccurrences: null });
    expect(asked).toEqual([undefined, '5-1']);
    expect((await inject(`${url}?after=a&after=b`)).json()).toMatchObject({ code: 'http/bad-parameter' });
  });
});

describe('lost', () => {
  test('is 410 on our routes and 404 for clients that exist', async () => {
    const { inject, view } = archive();
    view.losses.set(ABSENT, { recordedAt: '2026-01-01T00:00:00.000Z', sources: ['node a'] });
    for (const tail of ['', '/record', '/proof']) {
      const answer = await inject(`/v1/blobs/${ABSENT}${tail}`);
      expect(answer.json()).toMatchObject({ status: 410, code: 'blob/lost', sources: ['node a'] });
    }
    expect((await inject(`/vh/${ABSENT}`)).statusCode).toBe(404);
    expect((await inject(`/get/0x00${ABSENT}`)).statusCode).toBe(404);
  });
});

describe('check_vh', () => {
  const ask = (inject: ReturnType<typeof archive>['inject'], body: unknown) =>
    inject({ method: 'POST', url: '/check_vh', payload: typeof body === 'string' ? body : JSON.stringify(body) });

  test('answers in the order asked, twice where asked twice', async () => {
    const { inject, blob } = archive();
    const answer = await ask(inject, [ABSENT, blob.versionHash, blob.versionHash.toUpperCase(), ABSENT]);
    expect(answer.json()).toEqual([false, true, true, false]);
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
  });

  test.each(['walk-behind', 'rebuilding', 'not-placed', 'not-walked'] as const)(
    'never says false while it is %s, and true all the same',
    async (reason) => {
      const { inject, blob, chain } = archive();
      chain.trouble = chainUnavailable(reason);
      const answer = await ask(inject, [blob.versionHash, ABSENT]);
      expect([answer.statusCode, answer.json().code]).toEqual([503, `chain/${reason}`]);
      expect((await ask(inject, [blob.versionHash])).json()).toEqual([true]);
    },
  );

  test.each([
    ['no JSON', '[', 'http/bad-json'],
    ['nesting that takes the parser long', '['.repeat(8_000), 'http/bad-json'],
    ['not UTF-8', '["\u00ff', 'http/bad-json'],
    ['nothing', '', 'http/bad-json'],
    ['none', [], 'http/bad-body'],
    ['too many', Array.from({ length: 33 }, () => ABSENT), 'http/bad-body'],
    ['a prefix', [`0x${ABSENT}`], 'http/bad-body'],
    ['no list', { a: 1 }, 'http/bad-body'],
    ['numbers', [1], 'http/bad-body'],
  ])('400 for %s', async (_what, body, code) => {
    const { inject } = archive();
    expect((await ask(inject, body)).json()).toMatchObject({ status: 400, code });
  });

  test('takes 32 and no more bytes than they need', async () => {
    const { inject } = archive();
    expect(
      (
        await ask(
          inject,
          Array.from({ length: 32 }, () => ABSENT),
        )
      ).json(),
    ).toHaveLength(32);
    expect((await ask(inject, ' '.repeat(9_000))).statusCode).toBe(413);
  });

  test('is not read', async () => {
    const { inject } = archive();
    const answer = await inject('/check_vh');
    expect([answer.statusCode, answer.headers['allow']]).toEqual([405, 'POST, OPTIONS']);
  });
});

describe('lastblock', () => {
  test('is a bare hash, or 503', async () => {
    const { inject, chain } = archive();
    const answer = await inject('/lastblock');
    expect(answer.body).toMatch(/^[0-9a-f]{64}$/);
    expect(answer.headers['content-type']).toBe('text/plain');
    chain.trouble = chainUnavailable('not-final');
    expect((await inject('/lastblock')).statusCode).toBe(503);
  });
});

describe('alternative DA', () => {
  test('raw bytes by 0x00 and keccak256; nothing else is such a name', async () => {
    const { inject, view, blob } = archive();
    const answer = await inject(`/get/0x00${blob.versionHash}`);
    expect(answer.rawPayload).toEqual(Buffer.from(blob.bytes));
    expect(answer.headers['content-type']).toBe('application/octet-stream');
    const blake = view.add(blobOf(bytesOf(40), 'blake2s256'));
    expect((await inject(`/get/0x00${blake.versionHash}`)).statusCode).toBe(404);
    for (const name of [blob.versionHash, `0x01${blob.versionHash}`, `0x${blob.versionHash}`]) {
      expect((await inject(`/get/${name}`)).json()).toMatchObject({
        code: 'malformed/version-hash',
        detail: `A commitment must be 0x00 and 64 hex characters, not "${name}".`,
      });
    }
  });
});

test('a process without a walk says so everywhere', async () => {
  const { inject } = injectable(new FakeArchiveView(), NO_CHAIN);
  for (const url of [`/v1/transactions/${ABSENT}`, '/v1/blocks/1', '/lastblock', `/v1/blobs/${ABSENT}/proof`]) {
    expect((await inject(url)).json()).toMatchObject({ status: 503, code: 'chain/not-walked' });
  }
  const answer = await inject({ method: 'POST', url: '/check_vh', payload: JSON.stringify([ABSENT]) });
  expect(answer.statusCode).toBe(503);
});
