import { expect, test } from 'vitest';
import { FakeArchiveView } from './fake-archive-view.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { FakeReceipts } from './fake-receipts.ts';
import { injectable } from './harness.ts';

const HASH = '0a'.repeat(32);

function archive() {
  const receipts = new FakeReceipts();
  return { receipts, ...injectable(new FakeArchiveView(), new FakeChainView(), { receipts }) };
}

test('gives the receipt, which is true now and not for ever', async () => {
  const { inject, receipts } = archive();
  const answer = await inject(`/v1/receipts/01${HASH}`);
  expect(answer.headers['cache-control']).toBe('no-store');
  expect(answer.json()).toMatchObject({ statement: { kind: 'holdfast/receipt', versionHash: HASH } });
  expect(receipts.asked).toEqual([{ hashType: 'blake2s256', versionHash: HASH }]);
});

test.each([
  [
    'chain/not-final',
    503,
    { kind: 'not-yet', why: { kind: 'unavailable', reason: 'not-final', message: 'x', retryAfterSeconds: 9 } },
  ],
  [
    'chain/not-placed',
    503,
    { kind: 'not-yet', why: { kind: 'unavailable', reason: 'not-placed', message: 'x', retryAfterSeconds: 9 } },
  ],
  ['blob/withheld', 451, { kind: 'withheld', at: '2026-11-01T02:11:00.000Z', publicReason: null }],
  ['blob/absent', 404, { kind: 'absent' }],
] as const)('refuses with %s', async (code, status, answers) => {
  const { inject, receipts } = archive();
  receipts.answers = answers;
  const answer = await inject(`/v1/receipts/${HASH}`);
  expect([answer.statusCode, answer.json()]).toMatchObject([status, { code }]);
});

test('refuses what is no version hash without asking', async () => {
  const { inject, receipts } = archive();
  expect((await inject('/v1/receipts/xyz')).json()).toMatchObject({ status: 400, code: 'malformed/version-hash' });
  expect(receipts.asked).toEqual([]);
});
