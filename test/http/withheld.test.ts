import { expect, test } from 'vitest';
import { blobOf, bytesOf, FakeArchiveView } from './fake-archive-view.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { injectable } from './harness.ts';
import { rpc } from './rpc-call.ts';

const BLOB = blobOf(bytesOf(300));
const HASH = BLOB.versionHash;

function withholding(publicReason: string | null = null) {
  const view = new FakeArchiveView();
  const chain = new FakeChainView();
  const { txid } = chain.mine(BLOB, 5);
  view.add(BLOB);
  view.refusing = { kind: 'withheld', at: '2026-01-01T00:00:00.000Z', publicReason };
  chain.proving = { kind: 'withheld', at: null, publicReason };
  return { txid, ...injectable(view, chain, { facadeDialect: 'syscoin-4.4' }) };
}

test('says of a withheld blob that its operator withholds it, and nothing of a reason, on every route', async () => {
  const { inject, txid } = withholding();
  for (const path of pathsOf(txid)) {
    const answer = await inject(path);
    expect([path, answer.statusCode]).toEqual([path, 451]);
    expect(answer.json()).toMatchObject({
      code: 'blob/withheld',
      title: 'The blob is withheld by the operator',
      detail: `The operator withholds ${HASH}.`,
    });
    expect(answer.json()).not.toHaveProperty('publicReason');
    expect(answer.body).not.toMatch(/compel|had to|forced|order|law/i);
  }
});

test('gives the reason for publication on every route', async () => {
  const { inject, txid } = withholding('A court in X said so.');
  for (const path of pathsOf(txid)) {
    const answer = await inject(path);
    expect([path, answer.statusCode]).toEqual([path, 451]);
    expect(answer.json()).toMatchObject({
      detail: `The operator withholds ${HASH}: A court in X said so.`,
      publicReason: 'A court in X said so.',
    });
  }
  const { error } = await rpc(inject, 'getnevmblobdata', HASH, true);
  expect(error).toEqual({ code: -32603, message: 'The operator withholds the blob: A court in X said so.' });
  expect((await inject('/openapi.json')).body).toContain('"publicReason":{"type":"string"}');
});

function pathsOf(txid: string): string[] {
  return [
    `/v1/blobs/${HASH}`,
    `/v1/blobs/${HASH}/record`,
    `/v1/blobs/${HASH}/proof`,
    `/v1/transactions/${txid}/data`,
    `/v1/custom/${HASH}/${HASH}`,
    `/vh/${HASH}`,
    `/raw/vh/${HASH}`,
    `/get/0x00${HASH}`,
  ];
}

test('answers -32603 on the façade, in the same words', async () => {
  const { inject } = withholding();
  const { status, error } = await rpc(inject, 'getnevmblobdata', HASH, true);
  expect([status, error]).toEqual([503, { code: -32603, message: 'The operator withholds the blob' }]);
});

test('a list of the façade with data refuses as a whole what has a withheld blob in it', async () => {
  const { inject } = withholding();
  expect((await rpc(inject, 'listnevmblobdata', 0, 0, { getdata: true })).error?.code).toBe(-32_603);
  expect((await rpc(inject, 'listnevmblobdata')).result).toMatchObject([{ versionhash: HASH }]);
});

test('describes the refusal without a word of compulsion', async () => {
  const { inject } = withholding();
  expect((await inject('/openapi.json')).body).not.toMatch(/compel|had to/i);
});
