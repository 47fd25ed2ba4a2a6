import { expect, test } from 'vitest';
import { fakeNode, json } from '../node/fake-node.ts';
import { cli } from './cli-in-process.ts';

const ADDRESS = 'tsys1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx';

test('amounts and guids that are written as numbers are sent with every digit', async () => {
  const node = await fakeNode((response) => {
    json(response, 200, JSON.stringify({ result: { txid: 'ab'.repeat(32) }, error: null, id: 'holdfast' }));
  });
  const amounts = `[{"asset_guid":18446744073709551615,"address":"${ADDRESS}","amount":12345678901.12345678,"svc_amount":1e-8}]`;
  const env = { HOLDFAST_NODE_URL: node.url, HOLDFAST_NODE_DIALECT: 'svc' };
  expect(await cli(['rpc', 'assetallocationsendmany', amounts], env)).toMatchObject({ code: 0, stderr: '' });
  expect(node.seen[0]?.body).toContain(
    `"params":[[{"asset_guid":18446744073709551615,"address":"${ADDRESS}","amount":"12345678901.12345678","svc_amount":"0.00000001"}]]`,
  );
});
