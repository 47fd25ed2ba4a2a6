import { describe, expect, test } from 'vitest';
import { HoldfastError } from '../../src/core/blob/errors.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { Notifier } from '../../src/core/notifier.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { SlowRequests } from '../../src/ingest/slow-requests.ts';
import { decodeCursor, encodeCursor } from '../../src/reading/listing-cursor.ts';
import { eventually } from '../e2e/eventually.ts';
import { NEVER } from '../sample-blobs.ts';

describe('a notifier', () => {
  test('wakes everybody who waits, once', async () => {
    const notifier = new Notifier();
    const woken = Promise.all([notifier.wait(60_000, NEVER), notifier.wait(60_000, NEVER)]);
    notifier.notify();
    await woken;
    expect(notifier.notifications).toBe(1);
  });

  test('wakes waiting tasks without counting a change', async () => {
    const notifier = new Notifier();
    const woken = notifier.wait(60_000, NEVER);
    notifier.wakeUp();
    await woken;
    expect(notifier.notifications).toBe(0);
  });

  test('a wait ends by itself, with an abort, and at once when it was aborted before', async () => {
    const notifier = new Notifier();
    await notifier.wait(1, NEVER);
    const stopping = new AbortController();
    const woken = notifier.wait(60_000, stopping.signal);
    stopping.abort();
    await woken;
    await notifier.wait(60_000, stopping.signal);
  });
});

describe('a cursor', () => {
  test.each(['oldest', 'newest'] as const)('goes on where the %s page ended', (order) => {
    for (const sequence of [1, 77, 123_456_789_012_345]) {
      expect(decodeCursor(encodeCursor(sequence, order), order)).toBe(sequence);
    }
  });

  test.each(['', 'x', 'b2xkZXN0OjE6', Buffer.from('oldest:-1').toString('base64url'), encodeCursor(1, 'newest')])(
    'a cursor that no listing in this order gave is refused: %j',
    (cursor) => {
      expect(() => decodeCursor(cursor, 'oldest')).toThrow(expect.objectContaining({ code: 'archive/bad-cursor' }));
    },
  );
});

test('requests that run long are told of until the last of them ends', async () => {
  const conditions = new ConditionBoard(createLogger('info', { write: () => undefined }), () => 0);
  const slow = new SlowRequests(conditions, 1);
  const first = Promise.withResolvers<number>();
  const second = Promise.withResolvers<number>();
  const watched = [slow.watch('one', first.promise), slow.watch('other', second.promise)];
  await eventually(() => expect(conditions.all()).toMatchObject([{ code: 'archive/slow-request' }]));
  await eventually(() => expect(conditions.all()).toMatchObject([{ message: expect.stringContaining('other') }]));
  first.resolve(1);
  await watched[0];
  expect(conditions.has('slow')).toBe(true);
  second.reject(new Error('gone'));
  await expect(watched[1]).rejects.toThrow('gone');
  expect(conditions.has('slow')).toBe(false);
});

describe('the board of conditions', () => {
  function board() {
    const lines: string[] = [];
    let nowMs = 1_000;
    const conditions = new ConditionBoard(
      createLogger('info', { write: (line) => void lines.push(line) }),
      () => nowMs,
    );
    const later = () => {
      nowMs += 1_000;
    };
    return { conditions, lines, later };
  }
  const raised = { code: 'x/y', message: 'It is wrong.', hint: 'Mend it.', blocksReadiness: true };

  test('tells a condition once, keeps since when it stands, and tells when it is over', () => {
    const { conditions, lines, later } = board();
    conditions.set('node', raised);
    later();
    conditions.set('node', raised);
    expect(conditions.all()).toEqual([{ ...raised, severity: 'error', since: new Date(1_000).toISOString() }]);
    conditions.set('node', null);
    conditions.set('node', null);
    expect(conditions.all()).toEqual([]);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'error', code: 'x/y', msg: 'It is wrong.', hint: 'Mend it.' },
      { level: 'info', code: 'x/y', msg: 'condition cleared' },
    ]);
  });

  test('another condition of the same subject takes the place of the first, and stands from now', () => {
    const { conditions, later } = board();
    conditions.set('node', raised);
    later();
    conditions.set('node', { ...raised, code: 'x/z' });
    expect(conditions.all()).toMatchObject([{ code: 'x/z', since: new Date(2_000).toISOString() }]);
  });

  test('shows the most severe first, of equals the oldest, whatever came first', () => {
    const { conditions, lines, later } = board();
    const warning = { ...raised, blocksReadiness: false };
    conditions.set('clock', { ...warning, code: 'clock/wrong' });
    later();
    conditions.set('canary', { ...warning, code: 'canary/failed' });
    conditions.set('node', raised);
    conditions.set('chain:lost', { ...warning, code: 'chain/lost' });
    conditions.set('chain:late', { ...warning, code: 'chain/at-risk-50' });
    expect(conditions.all().map(({ code, severity }) => `${severity} ${code}`)).toEqual([
      'critical chain/at-risk-50',
      'critical chain/lost',
      'error x/y',
      'warning clock/wrong',
      'warning canary/failed',
    ]);
    expect(lines.map((line) => JSON.parse(line)).at(-1)).toMatchObject({ level: 'error', severity: 'critical' });
  });

  test('an error of Holdfast is reported as it is, any other as a bug, with its stack in the log', () => {
    const { conditions, lines } = board();
    conditions.setError('store', new HoldfastError('storage/full', 'Full.', { retryable: true, hint: 'Free space.' }));
    conditions.setError('node', new TypeError('x is not a function'));
    expect(conditions.all()).toMatchObject([
      { code: 'storage/full', message: 'Full.', hint: 'Free space.', blocksReadiness: true },
      { code: 'archive/unexpected', blocksReadiness: true },
    ]);
    expect(lines.join('')).toContain('"stack"');
  });
});
