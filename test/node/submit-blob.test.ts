import type { ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createClient, type SubmissionProgress, type SubmitOptions, submitBlob } from '../../src/client.ts';
import { encodeHex } from '../../src/core/blob/hex.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { callOf, fakeNode, json, result, rpcError, type Seen } from './fake-node.ts';

const BYTES = new TextEncoder().encode('a blob of ours');
const HASH = encodeHex(nobleHasher.keccak256(BYTES));
const TXID = 'cd'.repeat(32);
const OLD_TXID = '0d'.repeat(32);
const BLOCK = 'b1'.repeat(32);

interface Entry {
  txid: string;
  height?: number;
  chainlock?: boolean;
}
/** Answers that a proxy gives or leaves of a submission that the node has executed. */
const GARBLED = {
  'a 502 of a proxy': (response) => response.writeHead(502).end('<html>Bad gateway</html>'),
  'a 504 of a proxy': (response) => response.writeHead(504).end('<html>Gateway timeout</html>'),
  'a page of a proxy': (response) => response.writeHead(524).end('<html>A timeout occurred</html>'),
  'an empty 200': (response) => response.writeHead(200).end(),
  'half of the answer': (response) => json(response, 200, '{"result":{"txid":"cdcd'),
  'an answer that is too long': (response) => json(response, 200, `{"result":"${'cd'.repeat(2 ** 18)}"}`),
} satisfies Record<string, (response: ServerResponse) => void>;
type Fate = 'answer' | 'lose the call' | 'lose the answer' | keyof typeof GARBLED;

function isGarbled(fate: string): fate is keyof typeof GARBLED {
  return fate in GARBLED;
}

/** A node with at most one blob. `story` lists the cache's answers to successive look-ups; the last one stays. */
async function nodeWith(setting: {
  story: readonly (Entry | null)[];
  fates?: readonly Fate[];
  adrift?: boolean;
  afterCreate?: Entry;
  /** The look-up that is never answered, and what happens then. */
  hangs?: { readonly look: number; readonly then: () => void };
  /** From this look-up on the node refuses the user. */
  refusesFrom?: number;
}) {
  const state = { looks: 0, created: 0, createBodies: [] as string[], arrived: false };
  const fake = await fakeNode((response, seen, request) => {
    const { method, params } = callOf(seen);
    const [argument] = Array.isArray(params) ? params : [];
    switch (method) {
      case 'syscoincreatenevmblob': {
        const fate = setting.fates?.[state.created] ?? 'answer';
        state.created += 1;
        state.createBodies.push(seen.body);
        if (fate !== 'lose the call') state.arrived = true;
        if (fate === 'answer') return result(response, seen, { txid: TXID, versionhash: HASH, datasize: BYTES.length });
        return isGarbled(fate) ? GARBLED[fate](response) : request.socket.resetAndDestroy();
      }
      case 'getnevmblobdata':
        if (state.looks === setting.hangs?.look) return setting.hangs.then();
        if (state.looks >= (setting.refusesFrom ?? Number.POSITIVE_INFINITY)) return response.writeHead(403).end();
        return answerGet(argument === HASH ? nextOf(setting.story) : entryOfTx(String(argument)), argument, (body) =>
          body === null
            ? rpcError(response, seen, -32602, `Could not find blob information for versionhash ${argument}`)
            : result(response, seen, body),
        );
      case 'getrawtransaction':
        if (setting.adrift === true) return rpcError(response, seen, -5, 'No such mempool or blockchain transaction.');
        return result(response, seen, { txid: TXID, version: 137, vout: [] });
      case 'getblockheader':
        return result(response, seen, headerAt(100));
      default:
        return rpcError(response, seen, -32601, 'Method not found');
    }
  });
  let last: Entry | null = null;
  function nextOf(story: readonly (Entry | null)[]): Entry | null {
    if (state.arrived && setting.afterCreate !== undefined) return setting.afterCreate;
    last = story[Math.min(state.looks, story.length - 1)] ?? null;
    state.looks += 1;
    return last;
  }
  function entryOfTx(txid: string): Entry | null {
    return last?.txid === txid && last.height !== undefined ? last : null;
  }
  const client = createClient({ url: fake.url, dialect: 'syscoin-5' });
  onTestFinished(() => client.close());
  const progress: SubmissionProgress[] = [];
  const submit = (options: SubmitOptions = {}) =>
    submitBlob(client, BYTES, { pollMs: 1, listedWithinMs: 20, onProgress: (one) => progress.push(one), ...options });
  const stages = () => progress.map((one) => (one.kind === 'stage' ? one.submission.stage : one.kind));
  return { fake, state, submit, stages };
}

function answerGet(entry: Entry | null, _argument: unknown, answer: (body: object | null) => unknown): unknown {
  if (entry === null) return answer(null);
  const block =
    entry.height === undefined ? {} : { blockhash: BLOCK, height: entry.height, chainlock: entry.chainlock ?? false };
  return answer({ versionhash: HASH, mtp: 1, datasize: BYTES.length, txid: entry.txid, ...block });
}

const headerAt = (height: number) => ({
  hash: BLOCK,
  height,
  confirmations: 0,
  merkleroot: '',
  time: 1,
  mediantime: 1,
  nTx: 1,
  chainlock: false,
});
const creates = (seen: readonly Seen[]) => seen.filter((one) => callOf(one).method === 'syscoincreatenevmblob').length;

const ours = { txid: TXID };
const mined = { txid: TXID, height: 5 };
const locked = { txid: TXID, height: 5, chainlock: true };

describe('submitBlob', () => {
  test('submitBlob reports every stage', async () => {
    const { submit, stages } = await nodeWith({ story: [null, null, ours, ours, mined, mined, locked] });
    expect(await submit({ until: 'chain-locked' })).toEqual({
      stage: 'chain-locked',
      versionHash: HASH,
      txid: TXID,
      blockHash: BLOCK,
      height: 5,
    });
    expect(stages()).toEqual(['sent', 'listed', 'mined', 'chain-locked']);
  });

  test('submitBlob ends at the requested stage', async () => {
    const { submit, stages } = await nodeWith({ story: [null, ours, mined] });
    expect(await submit({ until: 'listed' })).toMatchObject({ stage: 'listed', txid: TXID });
    expect(stages()).toEqual(['sent', 'listed']);
  });

  test('a resubmission is mined with its own transaction, not with the old one', async () => {
    const old = { txid: OLD_TXID, height: 3 };
    const { submit, state } = await nodeWith({ story: [old, old, old, old, mined] });
    expect(await submit({ until: 'mined' })).toMatchObject({ stage: 'mined', height: 5 });
    expect(state.looks).toBeGreaterThanOrEqual(5);
  });

  test('an accepted blob that is never listed was dropped', async () => {
    const { submit } = await nodeWith({ story: [null] });
    expect(await submit()).toEqual({
      stage: 'dropped',
      versionHash: HASH,
      txid: TXID,
      reason: 'the node accepted it and never listed it',
    });
  });

  test('a blob that vanishes before it is mined was dropped', async () => {
    const { submit } = await nodeWith({ story: [null, ours, ours, null] });
    expect(await submit({ until: 'mined' })).toMatchObject({
      stage: 'dropped',
      reason: expect.stringContaining('vanished'),
    });
  });

  test('a listed blob whose transaction is gone was dropped', async () => {
    const { submit } = await nodeWith({ story: [null, ours], adrift: true });
    expect(await submit({ until: 'mined' })).toMatchObject({
      stage: 'dropped',
      reason: expect.stringContaining('memory pool'),
    });
  });

  test('a reorganisation unmines the blob, and submitBlob waits again', async () => {
    const { submit, stages } = await nodeWith({ story: [null, mined, ours, mined, locked] });
    expect(await submit({ until: 'chain-locked' })).toMatchObject({ stage: 'chain-locked' });
    expect(stages()).toEqual(['sent', 'mined', 'unmined', 'mined', 'chain-locked']);
  });

  test('an abort cancels submitBlob', async () => {
    const abort = new AbortController();
    const { submit } = await nodeWith({ story: [null, ours] });
    const onProgress = (one: SubmissionProgress) => {
      if (one.kind === 'stage' && one.submission.stage === 'listed') abort.abort('enough');
    };
    await expect(submit({ until: 'mined', signal: abort.signal, onProgress })).rejects.toBe('enough');
  });
});

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

  test('a blob that did not arrive is sent again without risk of a second transaction', async () => {
    const { submit, state } = await nodeWith({ story: [null], fates: ['lose the call', 'answer'], afterCreate: ours });
    expect(await submit()).toMatchObject({ stage: 'listed', txid: TXID });
    expect(state.createBodies.map((body) => callParams(body))).toEqual([
      [encodeHex(BYTES), true],
      [encodeHex(BYTES), false],
    ]);
    function callParams(body: string): unknown {
      const { params } = callOf({ body, path: '', authorization: '', contentType: '' });
      return params;
    }
  });

  test('a resubmission with an unknown outcome is not repeated', async () => {
    const { submit, fake } = await nodeWith({ story: [{ txid: OLD_TXID, height: 3 }], fates: ['lose the answer'] });
    await expect(submit()).rejects.toMatchObject({ code: 'node/submission-unknown', details: { versionHash: HASH } });
    expect(creates(fake.seen)).toBe(1);
  });

  test('a second lost answer ends the attempts', async () => {
    const { submit, fake } = await nodeWith({ story: [null], fates: ['lose the call', 'lose the call'] });
    await expect(submit()).rejects.toMatchObject({ code: 'node/submission-unknown' });
    expect(creates(fake.seen)).toBe(2);
  });
});

describe('a limit for the stage', () => {
  /** The clock of the client goes on by so much with each look at it. */
  const hurry = (stepMs: number) => {
    let nowMs = 0;
    const clock = vi.spyOn(SYSTEM_CLOCK, 'steadyMs').mockImplementation(() => (nowMs += stepMs));
    onTestFinished(() => clock.mockRestore());
  };

  test('a ChainLock that does not come ends the wait with an error that names what was submitted', async () => {
    const { submit, fake, stages } = await nodeWith({ story: [null, mined] });
    hurry(1_000_000);
    await expect(submit({ until: 'chain-locked', stageWithinMs: 1_800_000 })).rejects.toMatchObject({
      code: 'node/stage-not-reached',
      message: `Blob ${HASH} was submitted (transaction ${TXID}). It is mined, and was not chain-locked within 1,800 s.`,
      hint: expect.stringContaining('--keep-existing'),
      details: { stage: 'mined', until: 'chain-locked', versionHash: HASH, txid: TXID, blockHash: BLOCK, height: 5 },
    });
    expect([creates(fake.seen), stages()]).toEqual([1, ['sent', 'mined']]);
  });

  test('a node that hangs does not hold the wait beyond its limit', async () => {
    const limit = new AbortController();
    const limiting = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(limit.signal);
    onTestFinished(() => limiting.mockRestore());
    const then = () => limit.abort(new DOMException('It took too long.', 'TimeoutError'));
    const { submit } = await nodeWith({ story: [null, mined], hangs: { look: 2, then } });
    await expect(submit({ until: 'chain-locked', stageWithinMs: 60_000 })).rejects.toMatchObject({
      code: 'node/stage-not-reached',
      details: { stage: 'mined', until: 'chain-locked', versionHash: HASH, txid: TXID },
    });
    // The look that was under way at the limit has a little longer.
    expect(limiting).toHaveBeenCalledWith(65_000);
  });

  test('a stage that was reached counts, also at the last look', async () => {
    const { submit } = await nodeWith({ story: [null, locked] });
    hurry(1_000_000);
    expect(await submit({ until: 'chain-locked', stageWithinMs: 1 })).toMatchObject({ stage: 'chain-locked' });
  });
});
