import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { SubmissionProgress } from '../../src/client.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { type Answering, json } from './fake-node.ts';
import {
  BLOCK,
  creates,
  HASH,
  locked,
  mined,
  nodeWith,
  nowhere,
  OLD_TXID,
  onceWaiting,
  ours,
  TXID,
  unknownThere,
} from './node-with-one-blob.ts';

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
    const { submit } = await nodeWith({ story: [null], others: nowhere });
    expect(await submit()).toEqual({
      stage: 'dropped',
      versionHash: HASH,
      txid: TXID,
      reason: 'the node accepted it and never listed it',
    });
  });

  test('a blob that vanishes before it is mined was dropped', async () => {
    const { submit } = await nodeWith({ story: [null, ours, null], others: onceWaiting(nowhere) });
    expect(await submit({ until: 'mined' })).toMatchObject({
      stage: 'dropped',
      reason: expect.stringContaining('vanished'),
    });
  });

  test('a listed blob whose transaction is gone was dropped', async () => {
    const { submit } = await nodeWith({ story: [null, ours], others: { getrawtransaction: unknownThere } });
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

describe('a limit for the stage', () => {
  /** The second look at the clock is past this limit. Its real timer, which ends a node that hangs, never fires in a test. */
  const LIMIT_MS = 900_000;
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

  test('a look that shows nothing at the limit does not say that the stage was not reached', async () => {
    const getblockheader: Answering = (response) => json(response, 200, '{');
    const { submit } = await nodeWith({ story: [null, mined], dialect: 'syscoin-4.4', others: { getblockheader } });
    hurry(1_000_000);
    await expect(submit({ until: 'chain-locked', stageWithinMs: LIMIT_MS })).rejects.toMatchObject({
      code: 'node/stage-unknown',
      details: { stage: 'mined', until: 'chain-locked', versionHash: HASH, txid: TXID },
    });
  });

  test('a stage that was reached counts, also at the last look', async () => {
    const { submit } = await nodeWith({ story: [null, locked] });
    hurry(1_000_000);
    expect(await submit({ until: 'chain-locked', stageWithinMs: LIMIT_MS })).toMatchObject({ stage: 'chain-locked' });
  });
});
