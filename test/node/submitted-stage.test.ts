import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Dialect } from '../../src/client.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { type Answering, callOf, json, result } from './fake-node.ts';
import {
  BLOCK,
  creates,
  errorPage,
  forbidden,
  HASH,
  headerAt,
  mined,
  nodeWith,
  nowhere,
  OLD_TXID,
  onceWaiting,
  ours,
  TXID,
  unknownThere,
  withoutIndex,
} from './node-with-one-blob.ts';

describe('an accepted blob', () => {
  test.each([
    ['may not ask for', forbidden],
    ['gets an error page for', errorPage],
  ])('is listed for a user who %s its transaction', async (_what, getrawtransaction) => {
    const { submit } = await nodeWith({ story: [null, ours], others: { getrawtransaction } });
    expect(await submit()).toMatchObject({ stage: 'listed', txid: TXID });
  });

  test.each([
    { refusesFrom: 1, stage: 'sent' },
    { refusesFrom: 2, stage: 'listed' },
  ])('is told with its stage ($stage) when a look fails for good', async ({ refusesFrom, stage }) => {
    const { submit, fake } = await nodeWith({ story: [null, ours], refusesFrom });
    await expect(submit({ until: 'mined' })).rejects.toMatchObject({
      code: 'node/stage-unknown',
      message: expect.stringContaining(`was submitted (transaction ${TXID}). It is ${stage}.`),
      details: { stage, until: 'mined', versionHash: HASH, txid: TXID },
      cause: { code: 'node/unauthorized' },
    });
    expect(creates(fake.seen)).toBe(1);
  });

  test('is mined although the node refuses to say whether it is final', async () => {
    const others = { getblockheader: forbidden };
    const { submit } = await nodeWith({ story: [null, mined], dialect: 'syscoin-4.4', others });
    expect(await submit({ until: 'mined' })).toMatchObject({ stage: 'mined', blockHash: BLOCK, height: 5 });
    await expect(submit({ until: 'chain-locked' })).rejects.toMatchObject({
      code: 'node/stage-unknown',
      details: { stage: 'mined', txid: TXID, blockHash: BLOCK, height: 5 },
    });
  });

  test('is waited for while another node behind the address does not know its block', async () => {
    let asked = 0;
    const getblockheader: Answering = (response, seen, request) => {
      asked += 1;
      if (asked < 3) return unknownThere(response, seen, request);
      return result(response, seen, { ...headerAt(5), chainlock: true });
    };
    const { submit, stages } = await nodeWith({
      story: [null, mined],
      dialect: 'syscoin-4.4',
      others: { getblockheader },
    });
    expect(await submit({ until: 'chain-locked' })).toMatchObject({ stage: 'chain-locked', blockHash: BLOCK });
    expect(stages()).toEqual(['sent', 'mined', 'waiting', 'waiting', 'chain-locked']);
  });

  test('keeps its stage while a look breaks off', async () => {
    let asked = 0;
    const getblockheader: Answering = (response, seen) => {
      asked += 1;
      if (asked === 2) return json(response, 200, '{');
      return result(response, seen, { ...headerAt(5), chainlock: asked > 2 });
    };
    const { submit, stages } = await nodeWith({
      story: [null, mined],
      dialect: 'syscoin-4.4',
      others: { getblockheader },
    });
    expect(await submit({ until: 'chain-locked' })).toMatchObject({ stage: 'chain-locked' });
    expect(stages()).toEqual(['sent', 'mined', 'waiting', 'chain-locked']);
  });

  test('has its block in the specification’s dialect without the right to ask for its transaction', async () => {
    const getblock: Answering = (response, seen) => result(response, seen, { ...headerAt(5), size: 1, tx: [TXID] });
    const others = {
      getrawtransaction: forbidden,
      getbestblockhash: (response, seen) => result(response, seen, BLOCK),
      getblock,
    } satisfies Record<string, Answering>;
    const { submit } = await nodeWith({ story: [null, mined], dialect: 'svc', others });
    expect(await submit({ until: 'mined' })).toMatchObject({ stage: 'mined', blockHash: BLOCK, height: 5 });
  });
});

describe('a blob whose transaction or block is unknown', () => {
  const cached = { txid: OLD_TXID, height: 3 };

  test.each<Dialect>(['svc', 'syscoin-4.4'])('ends early, since %s does not show its stage', async (dialect) => {
    const { submit, state } = await nodeWith({ story: [cached], dialect });
    expect(await submit({ overwriteExisting: false })).toMatchObject({ stage: 'listed', txid: null });
    const looks = state.looks;
    await expect(submit({ overwriteExisting: false, until: 'mined' })).rejects.toMatchObject({
      code: 'node/stage-unknown',
      hint: expect.not.stringContaining('--keep-existing'),
      details: { stage: 'listed', until: 'mined', versionHash: HASH, txid: null },
    });
    expect(state.looks - looks).toBe(2);
  });

  test('ends early after a lost answer', async () => {
    const setting = { story: [null], afterCreate: ours, dialect: 'svc' as const };
    const { submit } = await nodeWith({ ...setting, fates: ['lose the answer'] });
    await expect(submit({ until: 'mined' })).rejects.toMatchObject({
      code: 'node/stage-unknown',
      details: { stage: 'listed', versionHash: HASH, txid: null },
    });
  });

  test('was not dropped when the cache has it no longer', async () => {
    const { submit } = await nodeWith({ story: [cached, null] });
    await expect(submit({ overwriteExisting: false, until: 'mined' })).rejects.toMatchObject({
      code: 'node/stage-unknown',
      message: expect.stringContaining('it was dropped, or it is final and was pruned'),
    });
  });

  test('is final when its block is found before the cache prunes it', async () => {
    let shown = 0;
    let headers = 0;
    const others: Readonly<Record<string, Answering>> = {
      getrawtransaction: (response, seen, request) => {
        const isVerbose = JSON.stringify(callOf(seen).params).includes('true');
        if (isVerbose) shown += 1;
        if (!isVerbose || shown === 1) return unknownThere(response, seen, request);
        return result(response, seen, { txid: TXID, version: 137, blockhash: BLOCK, confirmations: 1, vout: [] });
      },
      getbestblockhash: (response, seen) => result(response, seen, BLOCK),
      getblock: (response, seen) => result(response, seen, { ...headerAt(5), size: 1, tx: [] }),
      getblockheader: (response, seen) => {
        headers += 1;
        if (headers === 2) return json(response, 200, '{');
        return result(response, seen, { ...headerAt(5), chainlock: true });
      },
    };
    const { submit, stages } = await nodeWith({ story: [null, mined, mined, null], dialect: 'svc', others });
    expect(await submit({ until: 'chain-locked' })).toMatchObject({ stage: 'chain-locked', blockHash: BLOCK });
    expect(stages()).toEqual(['sent', 'mined', 'mined', 'waiting']);
  });

  test('was not dropped when its block was never found', async () => {
    const { submit } = await nodeWith({ story: [null, mined, null], dialect: 'svc', others: nowhere });
    await expect(submit({ until: 'chain-locked' })).rejects.toMatchObject({
      code: 'node/stage-unknown',
      details: { stage: 'mined', txid: TXID, blockHash: null },
    });
  });
});

describe('a blob that the cache has no longer', () => {
  const hour = 3_600_000;

  test.each<[string, Readonly<Record<string, Answering>>]>([
    ['waits in the mempool', {}],
    ['may not be asked for', { ...nowhere, getrawtransaction: forbidden }],
  ])('was not dropped while its transaction %s', async (_what, others) => {
    for (const story of [[null], [null, ours, null]]) {
      const { submit } = await nodeWith({ story, others });
      await expect(submit({ until: 'mined' })).rejects.toMatchObject({
        code: 'node/stage-unknown',
        message: expect.stringContaining('it may still be mined'),
        details: { until: 'mined', versionHash: HASH, txid: TXID },
      });
    }
  });

  test('is mined when a block has its transaction, also without an index', async () => {
    const pruned = async () => await nodeWith({ story: [null, ours, null], others: onceWaiting(withoutIndex) });
    const { submit } = await pruned();
    expect(await submit({ until: 'mined' })).toMatchObject({ stage: 'mined', blockHash: BLOCK, height: 5 });
    await expect((await pruned()).submit({ until: 'chain-locked' })).rejects.toMatchObject({
      code: 'node/stage-unknown',
      message: expect.stringContaining(`is in block ${BLOCK}`),
    });
  });

  test('does not count as mined when it was never listed', async () => {
    const { submit } = await nodeWith({ story: [null], others: withoutIndex });
    await expect(submit()).rejects.toMatchObject({ code: 'node/stage-unknown', details: { stage: 'sent' } });
  });

  test.each([
    ['five hours', 5 * hour, 'dropped'],
    ['seven hours', 7 * hour, 'node/stage-unknown'],
  ])('may have been pruned when it was shown %s ago', async (_what, agoMs, end) => {
    const { submit, state } = await nodeWith({ story: [null, ours, null], others: onceWaiting(nowhere) });
    const clock = vi.spyOn(SYSTEM_CLOCK, 'steadyMs').mockImplementation(() => (state.looks > 2 ? agoMs : 0));
    onTestFinished(() => clock.mockRestore());
    const ended = await submit({ until: 'mined' }).then(
      ({ stage }) => stage,
      ({ code }) => code,
    );
    expect(ended).toBe(end);
  });
});
