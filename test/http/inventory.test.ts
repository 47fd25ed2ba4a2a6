import { expect, test } from 'vitest';
import { FakeArchiveView } from './fake-archive-view.ts';
import { chainUnavailable, FakeChainView } from './fake-chain-view.ts';
import { FakeInventory } from './fake-inventory.ts';
import { injectable } from './harness.ts';

function archive() {
  const inventory = new FakeInventory();
  return { inventory, ...injectable(new FakeArchiveView(), new FakeChainView(), { inventory }) };
}

test('gives the whole, or a range, in one order of members', async () => {
  const { inject, inventory } = archive();
  const whole = await inject('/v1/inventory');
  expect([whole.statusCode, whole.headers['cache-control']]).toEqual([200, 'no-store']);
  expect(Object.keys(whole.json())).toEqual([
    ...['format', 'chain', 'from', 'to', 'finalHeight', 'blockHash', 'counts', 'digest', 'parts', 'held'],
  ]);
  expect((await inject('/v1/inventory?from=3&to=5')).json()).toMatchObject({ from: 3, to: 5, held: '2s1m' });
  expect(inventory.asked).toEqual([
    [null, null],
    [3, 5],
  ]);
});

test.each(['from=-1', 'from=x', 'to=4294967296', 'from=5&to=4', 'from=1&from=2', 'form=3', 'from='])(
  'refuses %s, and names the parameter',
  async (query) => {
    const { inject, inventory } = archive();
    const answer = await inject(`/v1/inventory?${query}`);
    expect(answer.json()).toMatchObject({ status: 400, code: 'http/bad-parameter' });
    expect(inventory.asked).toEqual([]);
  },
);

test('says when it cannot tell', async () => {
  const { inject, inventory } = archive();
  inventory.trouble = chainUnavailable('not-final');
  const answer = await inject('/v1/inventory');
  expect(answer.json()).toMatchObject({ status: 503, code: 'chain/not-final' });
  expect(answer.headers['retry-after']).toBe('7');
});
