import { createHash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { LossJudge } from '../../src/chain/loss-judge.ts';
import { parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { RETENTION_SECONDS } from '../../src/core/blob/limits.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { Notifier } from '../../src/core/notifier.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { openCatalog, sighting } from '../catalog/catalog-in-folder.ts';

const hex = (label: string) => createHash('sha256').update(label).digest('hex');
const MINED_SECONDS = 1_767_000_000;

/** A catalog in which one blob is recorded as lost, and another one is overdue. */
function catalogAfterALoss() {
  const catalog = openCatalog();
  catalog.chain.recordStart(100);
  const hash = parseBlockHash(hex('block 100'));
  const occurrence = (label: string, transactionIndex: number) => {
    const { versionHash } = sighting(label);
    const txid = parseTxId(hex(`${label} txid`));
    return { versionHash, hashType: 'keccak256', txid, vout: 0, transactionIndex, makeRecord: () => '{}' } as const;
  };
  const occurrences = [occurrence('lost', 1), occurrence('overdue', 2)];
  const times = { timeSeconds: MINED_SECONDS, medianTimeSeconds: MINED_SECONDS };
  const block = {
    height: 100,
    hash,
    previousHash: parseBlockHash(hex('block 99')),
    ...times,
    occurrences,
    unclear: [],
  };
  catalog.chain.recordBlocks([block], () => false);
  const { versionHash } = sighting('lost');
  const deadlineSeconds = MINED_SECONDS + RETENTION_SECONDS;
  catalog.losses.record([{ hashType: 'keccak256', versionHash, upToHeight: 100, deadlineSeconds, answers: [] }]);
  return { catalog, hash };
}

test('a recorded loss stands before anybody has answered, so that no start calls it over', async () => {
  const { catalog, hash } = catalogAfterALoss();
  const asked = Promise.withResolvers<void>();
  const silent = Promise.withResolvers<null>();
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => undefined }), SYSTEM_CLOCK.wallMs);
  const unused = () => Promise.reject(new Error('Nobody gave bytes.'));
  const judge = new LossJudge({
    catalog,
    poller: {
      state: {
        genesis: null,
        tip: { height: 100, hash, medianTimeSeconds: MINED_SECONDS + 2 * RETENTION_SECONDS, syncing: false },
        lastAnswerMs: null,
        sweptMs: null,
        entries: null,
      },
      isListCurrent: () => true,
      isListed: () => false,
    },
    chain: { isWalked: true, moved: new Notifier() },
    nodes: { all: [] },
    sources: [
      {
        name: 'store silent',
        find: () => {
          asked.resolve();
          return silent.promise;
        },
      },
    ],
    peers: [],
    verifier: { verify: unused },
    held: { copyOf: () => null },
    spooler: { spool: unused },
    conditions,
    activity: { emit: () => true },
    clock: SYSTEM_CLOCK,
  });
  const ending = new AbortController();
  const running = judge.run(ending.signal);
  onTestFinished(async () => {
    ending.abort();
    silent.resolve(null);
    await running;
  });
  await asked.promise;
  expect(conditions.standing()).toMatchObject([{ code: 'chain/lost', amount: 1 }]);
});
