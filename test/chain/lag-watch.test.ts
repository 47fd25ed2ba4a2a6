import { expect, test } from 'vitest';
import { LagWatch } from '../../src/chain/lag-watch.ts';
import { NodeGroup } from '../../src/chain/node-group.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { FakeBlobNode } from '../app/fake-blob-node.ts';

const TEN_MINUTES_MS = 600_000;
const NEVER = new AbortController().signal;

class NamedNode extends FakeBlobNode {
  override readonly name: string;

  constructor(name: string, height: number) {
    super();
    this.name = name;
    this.tipValue = { ...this.tipValue, height };
  }
}

function watched() {
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), () => 0);
  const group = new NodeGroup(
    [new NamedNode('first', 100), new NamedNode('second', 103)],
    async () => null,
    SYSTEM_CLOCK,
  );
  const clock = { nowMs: 5 };
  const lag = new LagWatch(group, conditions, { wallMs: () => 0, steadyMs: () => clock.nowMs });
  const followed = async () => (await group.tip(NEVER)).height;
  const note = (first: number, second: number) =>
    lag.note(
      new Map([
        ['first', first],
        ['second', second],
      ]),
    );
  return { lag, clock, conditions, followed, note };
}

test('a first node that stalls is asked last and reported, and is followed again after it caught up', async () => {
  const { clock, conditions, followed, note } = watched();
  note(100, 103);
  clock.nowMs += TEN_MINUTES_MS - 1;
  note(100, 107);
  expect(await followed()).toBe(100);
  expect(conditions.all()).toEqual([]);
  clock.nowMs += 1;
  note(100, 107);
  expect(await followed()).toBe(103);
  expect(conditions.all()).toMatchObject([{ code: 'chain/node-lags', blocksReadiness: false }]);
  expect(conditions.all()[0]?.message).toMatch(/^first \(at height 100\) stands still.* at height 107/);
  note(108, 110);
  expect(await followed()).toBe(100);
  expect(conditions.all()).toEqual([]);
});

test('a node that is a little late, or catches up in time, is not reported', async () => {
  const { clock, conditions, followed, note } = watched();
  for (let minute = 0; minute < 60; minute += 1) {
    note(100 + minute, minute % 8 === 7 ? 104 + minute : 102 + minute);
    clock.nowMs += TEN_MINUTES_MS / 10;
  }
  expect(await followed()).toBe(100);
  expect(conditions.all()).toEqual([]);
});

test('a stalled node that falls silent stays reported', async () => {
  const { lag, clock, conditions, followed, note } = watched();
  note(100, 103);
  clock.nowMs += TEN_MINUTES_MS;
  lag.note(new Map([['second', 108]]));
  expect(await followed()).toBe(103);
  expect(conditions.all()).toMatchObject([{ message: expect.stringContaining('first (at height unknown)') }]);
});
