import { expect, test } from 'vitest';
import { eventually } from '../e2e/eventually.ts';
import { Scene } from './archive-on-devnode.ts';

test('an unconfirmed transaction is not absent where the list names none', async () => {
  const scene = await (await Scene.create({ node: { dialect: 'svc' } })).start();
  scene.mine(2, 1);
  await scene.caughtUp();
  const blob = scene.submit();
  const statusOf = async (txid: string) => (await fetch(`${scene.url}/v1/transactions/${txid}`)).status;
  const call = { id: 1, method: 'getnevmblobdata', params: [blob.txid] };
  expect(await statusOf(blob.txid)).toBe(503);
  expect((await fetch(scene.url, { method: 'POST', body: JSON.stringify(call) })).status).toBe(503);
  scene.mine(1);
  await scene.caughtUp();
  expect(await statusOf(blob.txid)).toBe(200);
  // A node that does not answer soon enough keeps absence from being known: on a busy machine that is so at first.
  await eventually(async () => expect(await statusOf('ab'.repeat(32))).toBe(404));
});

test('a stated dialect that has no blobs is told, not tried', async () => {
  const scene = await Scene.create({ env: { HOLDFAST_NODE_DIALECT: 'syscoin-4.2' } });
  await scene.start();
  await scene.until('it is told', () =>
    scene.archive.status().conditions.some(({ code }) => code === 'node/unsupported-operation'),
  );
});
