import { describe, expect, test } from 'vitest';
import type { AlertDocument } from '../../../src/core/alerts/alert-document.ts';
import type { ToldCondition } from '../../../src/core/alerts/alert-ledger.ts';
import { Alerts } from '../../../src/core/alerts/alerts.ts';
import { HoldfastError } from '../../../src/core/blob/errors.ts';
import { ConditionBoard, type Raised } from '../../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../../src/core/observability/logger.ts';
import { NEVER } from '../../sample-blobs.ts';

const AWAY: Raised = { code: 'node/unreachable', message: 'It is away.', hint: 'Start it.', blocksReadiness: true };
const LATE: Raised = { ...AWAY, code: 'chain/at-risk-50', blocksReadiness: false };
const lost = (amount: number): Raised => ({ ...AWAY, code: 'chain/lost', blocksReadiness: false, amount });

type Refusal = { readonly status?: number };

/** An archiver whose catalog outlives it: what was told is in `ledger`. */
function archiver(ledger = new Map<string, ToldCondition>()) {
  let nowMs = 1_000_000;
  const sent: AlertDocument[] = [];
  const tried: AlertDocument[] = [];
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), () => nowMs);
  const disk = { isFull: false };
  const receiver: { refuses: (document: AlertDocument) => Refusal | null } = { refuses: () => null };
  const modules = {
    archiverId: 'ab'.repeat(8),
    hook: {
      async post(document: AlertDocument) {
        tried.push(document);
        const details = receiver.refuses(document);
        if (details !== null)
          throw new HoldfastError('alert/not-delivered', 'Nobody took it.', {
            details,
            retryable: true,
            hint: 'Look.',
          });
        sent.push(document);
      },
    },
    ledger: {
      all: () => new Map(ledger),
      put(subject: string, told: ToldCondition) {
        if (disk.isFull) throw new Error('The disk is full.');
        ledger.set(subject, told);
      },
      remove: (subject: string) => void ledger.delete(subject),
    },
    archive: { standing: () => conditions.standing(), summary: () => 'All is well.' },
    conditions,
    clock: { wallMs: () => nowMs, steadyMs: () => nowMs },
  };
  /** Lets so much time pass, in which it tells what it has to. */
  const pass = async (seconds: number) => {
    const stopping = new AbortController();
    const untilMs = nowMs + seconds * 1_000;
    const wait = async (ms: number) => {
      nowMs += ms;
      if (nowMs >= untilMs) stopping.abort();
    };
    await own(wait).run(stopping.signal);
  };
  // One object all along: it remembers since when something is to be told.
  const waits: { now: (ms: number, signal: AbortSignal) => Promise<void> } = { now: async () => {} };
  const alerts = new Alerts({ ...modules, wait: (ms, signal) => waits.now(ms, signal) });
  const own = (wait: (ms: number) => Promise<void>) => {
    waits.now = wait;
    return alerts;
  };
  const told = () =>
    sent.map(({ event, code, replaces }) => [event, code, ...(replaces === null ? [] : [replaces])].join(' '));
  return { alerts, conditions, disk, ledger, pass, receiver, sent, told, tried, waits };
}

describe('alerts', () => {
  test('tell at once of danger, and of anything else when it has stood for a minute, each once', async () => {
    const { conditions, pass, sent, told } = archiver();
    conditions.set('node', AWAY);
    conditions.set('chain:late', LATE);
    await pass(30);
    expect(told()).toEqual(['raised chain/at-risk-50']);
    await pass(300);
    expect(told()).toEqual(['raised chain/at-risk-50', 'raised node/unreachable']);
    expect(sent[1]).toMatchObject({
      version: 1,
      archiver: 'ab'.repeat(8),
      subject: 'node',
      severity: 'error',
      message: 'It is away.',
      hint: 'Start it.',
      standing: [{ code: 'chain/at-risk-50' }, { code: 'node/unreachable' }],
    });
  });

  test('tell of what worsens with what it was, and of what clears when it stays away', async () => {
    const { conditions, pass, told } = archiver();
    conditions.set('chain:late', LATE);
    await pass(5);
    conditions.set('chain:late', { ...LATE, code: 'chain/at-risk-90' });
    await pass(5);
    conditions.set('chain:late', null);
    await pass(30);
    expect(told()).toEqual(['raised chain/at-risk-50', 'worsened chain/at-risk-90 chain/at-risk-50']);
    await pass(90);
    expect(told().at(-1)).toBe('cleared chain/at-risk-90');
  });

  test('do not tell of what comes and goes', async () => {
    const { conditions, pass, told } = archiver();
    for (let round = 0; round < 10; round += 1) {
      conditions.set('node', AWAY);
      await pass(20);
      conditions.set('node', null);
      await pass(20);
    }
    expect(told()).toEqual([]);
  });

  test('tell of what stands in another way each time that it is looked at', async () => {
    const { conditions, pass, told } = archiver();
    for (let round = 0; round < 10; round += 1) {
      conditions.set('node', round % 2 === 0 ? AWAY : { ...AWAY, code: 'node/bad-answer' });
      await pass(20);
    }
    expect(told()).toHaveLength(1);
  });

  test('tell of every further loss, also of one that takes the place of a loss that was revoked', async () => {
    const { conditions, pass, told } = archiver();
    for (const amount of [1, 1, 3, 2, 3]) {
      conditions.set('chain:lost', lost(amount));
      await pass(5);
    }
    expect(told()).toEqual(['raised chain/lost', 'worsened chain/lost', 'worsened chain/lost']);
  });

  test('an undelivered document raises a condition, keeps its id while retried, and is sent when the receiver listens', async () => {
    const { conditions, pass, receiver, told, tried } = archiver();
    receiver.refuses = () => ({});
    conditions.set('chain:lost', lost(1));
    await pass(600);
    expect(told()).toEqual([]);
    expect(conditions.all().map(({ code }) => code)).toContain('alert/not-delivered');
    expect(tried.length).toBeGreaterThan(5);
    // Never more often than its pauses allow: twice as long after each failure, up to a minute and a quarter.
    expect(tried.length).toBeLessThan(25);
    expect(new Set(tried.map(({ id }) => id)).size).toBe(1);
    receiver.refuses = () => null;
    await pass(120);
    expect(told()).toEqual(['raised chain/lost']);
    expect(conditions.has('alert')).toBe(false);
  });

  test('a document that one receiver refuses does not delay any other', async () => {
    const { conditions, pass, receiver, told } = archiver();
    receiver.refuses = ({ code }) => (code === 'chain/at-risk-50' ? { status: 400 } : null);
    conditions.set('chain:late', LATE);
    conditions.set('chain:lost', lost(1));
    await pass(5);
    expect(told()).toEqual(['raised chain/lost']);
    expect(conditions.has('alert')).toBe(true);
  });

  test('are told where nothing can be written, each once, and are written down when that is over', async () => {
    const { conditions, disk, ledger, pass, told } = archiver();
    disk.isFull = true;
    conditions.set('chain:lost', lost(1));
    conditions.set('node', AWAY);
    await pass(600);
    expect(told()).toEqual(['raised chain/lost', 'raised node/unreachable']);
    disk.isFull = false;
    await pass(120);
    expect(told()).toHaveLength(2);
    expect([...ledger.keys()].toSorted()).toEqual(['chain:lost', 'node']);
  });

  test('are compared after a restart with what was delivered: nothing twice, and no loss untold', async () => {
    const before = archiver();
    before.conditions.set('chain:lost', lost(1));
    await before.pass(5);
    before.receiver.refuses = () => ({});
    before.conditions.set('chain:lost', lost(2));
    await before.pass(60);
    expect(before.told()).toEqual(['raised chain/lost']);

    const after = archiver(before.ledger);
    after.conditions.set('chain:lost', lost(2));
    await after.pass(5);
    expect(after.told()).toEqual(['worsened chain/lost']);
    const last = archiver(after.ledger);
    last.conditions.set('chain:lost', lost(2));
    await last.pass(300);
    expect(last.told()).toEqual([]);
  });

  test('do not say after a restart that something is over that was not looked at since', async () => {
    const before = archiver();
    before.conditions.set('canary', AWAY);
    await before.pass(120);
    const after = archiver(new Map(before.ledger));
    await after.pass(120);
    expect(after.sent).toMatchObject([
      { event: 'cleared', message: expect.stringContaining('has not been found again since the archiver started') },
    ]);
    before.conditions.set('canary', null);
    await before.pass(120);
    expect(before.sent.at(-1)).toMatchObject({ event: 'cleared', message: expect.stringContaining('is over') });
  });

  test('do not clear after a restart what cannot be checked yet', async () => {
    const before = archiver();
    before.conditions.set('chain:late', LATE);
    before.conditions.set('node', AWAY);
    await before.pass(120);
    const after = archiver(before.ledger);
    after.conditions.set('node', AWAY);
    await after.pass(600);
    expect(after.told()).toEqual([]);
    after.conditions.set('node', null);
    await after.pass(120);
    expect(after.told().toSorted()).toEqual(['cleared chain/at-risk-50', 'cleared node/unreachable']);
  });

  test('keep one document per subject, however long the receiver is down', async () => {
    const { conditions, pass, receiver, sent } = archiver();
    receiver.refuses = () => ({});
    for (let amount = 1; amount <= 200; amount += 1) {
      conditions.set('chain:lost', lost(amount));
      await pass(5);
    }
    receiver.refuses = () => null;
    await pass(120);
    expect(sent).toHaveLength(1);
  });

  test('tell once a day how things stand, as often as it takes', async () => {
    const { alerts, conditions, receiver, sent, tried, waits } = archiver();
    conditions.set('chain:late', LATE);
    receiver.refuses = () => (tried.length < 3 ? { status: 503 } : null);
    waits.now = async () => {};
    await alerts.digest(NEVER);
    expect(sent).toMatchObject([
      {
        event: 'digest',
        code: null,
        severity: 'critical',
        message: 'All is well.',
        standing: [{ code: 'chain/at-risk-50' }],
      },
    ]);
    expect(new Set(tried.map(({ id }) => id)).size).toBe(1);
  });
});
