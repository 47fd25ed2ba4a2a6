import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createClient, submitBlob } from '../../src/client.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { callOf, fakeNode, json, rpcError } from './fake-node.ts';
import {
  BYTES,
  creates,
  type Fate,
  GARBLED,
  HASH,
  isGarbled,
  nodeWith,
  OLD_TXID,
  ours,
  TXID,
} from './node-with-one-blob.ts';

/** The client's clock shows what the test says. */
function clockBy(nowMs: () => number) {
  const clock = vi.spyOn(SYSTEM_CLOCK, 'steadyMs').mockImplementation(nowMs);
  onTestFinished(() => clock.mockRestore());
}

describe('after a lost connection', () => {
  test('a blob that arrived is not sent again', async () => {
    const { submit, fake, stages } = await nodeWith({ story: [null], fates: ['lose the answer'], afterCreate: ours });
    expect(await submit()).toMatchObject({ stage: 'listed', txid: TXID });
    expect(creates(fake.seen)).toBe(1);
    expect(stages()).toEqual(['looking', 'sent', 'listed']);
  });

  test.each(Object.keys(GARBLED).filter(isGarbled))('a blob that arrived is not sent again after %s', async (fate) => {
    const { submit, fake, stages } = await nodeWith({ story: [null], fates: [fate], afterCreate: ours });
    expect(await submit()).toMatchObject({ stage: 'listed', txid: TXID });
    expect(creates(fake.seen)).toBe(1);
    expect(stages()).toEqual(['looking', 'sent', 'listed']);
  });

  test('a look that fails for good tells that the blob may have arrived', async () => {
    const { submit, fake } = await nodeWith({
      story: [null],
      fates: ['a 504 of a proxy'],
      refusesFrom: 1,
    });
    await expect(submit()).rejects.toMatchObject({ code: 'node/submission-unknown', details: { versionHash: HASH } });
    expect(creates(fake.seen)).toBe(1);
  });

  test.each<Fate>(['lose the call', 'a 504 of a proxy'])(
    'a blob that the node does not show is not sent again: the call may still run (%s)',
    async (fate) => {
      const { submit, fake, state } = await nodeWith({ story: [null], fates: [fate] });
      clockBy(() => state.looks * 2_000);
      await expect(submit()).rejects.toMatchObject({
        code: 'node/submission-unknown',
        hint: expect.stringContaining('may still be at work'),
      });
      expect(creates(fake.seen)).toBe(1);
      expect(state.looks).toBe(31);
    },
  );

  test.each([
    ['slow', 50_000, 3],
    ['frequent', 1_000, 60],
  ])('the node is looked at for a minute, and three times at least: %s looks', async (_what, lookMs, looks) => {
    const { submit, state } = await nodeWith({ story: [null], fates: ['a 504 of a proxy'] });
    clockBy(() => state.looks * lookMs);
    await expect(submit()).rejects.toMatchObject({ code: 'node/submission-unknown' });
    expect(state.looks).toBe(1 + looks);
  });

  test('a node that hangs is looked at again after 20 seconds, and ends the search after a minute', async () => {
    const limits: AbortController[] = [];
    const limiting = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      expect(ms).toBe(20_000);
      limits.push(new AbortController());
      return limits.at(-1)?.signal ?? AbortSignal.abort();
    });
    onTestFinished(() => limiting.mockRestore());
    const then = () => limits.at(-1)?.abort(new DOMException('It took too long.', 'TimeoutError'));
    const { submit } = await nodeWith({ story: [null], fates: ['lose the call'], hangs: { look: 1, then } });
    clockBy(() => limits.length * 20_000);
    await expect(submit()).rejects.toMatchObject({ code: 'node/submission-unknown' });
    expect(limits).toHaveLength(3);
  });

  test('a slow call ends after many looks, and its blob is found', async () => {
    const story = [...Array<null>(10).fill(null), ours];
    const { submit, fake } = await nodeWith({ story, fates: ['a 504 of a proxy'] });
    expect(await submit()).toMatchObject({ stage: 'listed', txid: TXID });
    expect(creates(fake.seen)).toBe(1);
  });

  test('a resubmission with an unknown outcome is not repeated', async () => {
    const { submit, fake } = await nodeWith({ story: [{ txid: OLD_TXID, height: 3 }], fates: ['lose the answer'] });
    await expect(submit()).rejects.toMatchObject({ code: 'node/submission-unknown', details: { versionHash: HASH } });
    expect(creates(fake.seen)).toBe(1);
  });

  test('a dialect that cannot be detected ends the call with its own error: nothing was sent', async () => {
    const fake = await fakeNode((response, seen) =>
      callOf(seen).method === 'getnevmblobdata'
        ? rpcError(response, seen, -32602, `Could not find blob information for versionhash ${HASH}`)
        : json(response, 200, '{'),
    );
    const client = createClient({ url: fake.url });
    onTestFinished(() => client.close());
    await expect(submitBlob(client, BYTES, { pollMs: 1 })).rejects.toMatchObject({ code: 'node/malformed-answer' });
    expect(creates(fake.seen)).toBe(0);
  });
});
