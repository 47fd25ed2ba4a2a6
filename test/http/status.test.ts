import { describe, expect, test } from 'vitest';
import type { Condition } from '../../src/core/conditions/condition.ts';
import { FakeArchiveView, HEALTHY } from './fake-archive-view.ts';
import { injectable } from './harness.ts';

const BLOCKING: Condition = {
  code: 'node/unreachable',
  message: 'The node does not answer.',
  hint: 'Start it.',
  since: '2026-01-01T00:00:00.000Z',
  severity: 'error',
  blocksReadiness: true,
};
const WORTH_TELLING: Condition = {
  ...BLOCKING,
  code: 'storage/nearly-full',
  severity: 'warning',
  blocksReadiness: false,
};

function archive(...conditions: Condition[]) {
  const view = new FakeArchiveView();
  view.now = () => ({ ...HEALTHY, conditions });
  return { view, ...injectable(view) };
}

describe('status', () => {
  test('is the archive’s own, never cached', async () => {
    const { inject } = archive(BLOCKING);
    const answer = await inject('/v1/status');
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.json()).toEqual({ ...HEALTHY, conditions: [BLOCKING] });
  });
});

describe('readiness', () => {
  test('is given while nothing blocks', async () => {
    const { inject } = archive(WORTH_TELLING);
    const { blocksReadiness: _, ...told } = WORTH_TELLING;
    const answer = await inject('/readyz');
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({ ready: true, conditions: [told] });
  });

  test('reads the conditions alone', async () => {
    const { inject, view } = archive(WORTH_TELLING);
    view.status = () => {
      throw new Error('The whole status was read.');
    };
    expect((await inject('/readyz')).json()).toMatchObject({ ready: true });
  });

  test('is refused with what blocks it, what to do, and since when', async () => {
    const { inject } = archive(WORTH_TELLING, BLOCKING);
    const { blocksReadiness: _, ...told } = BLOCKING;
    const answer = await inject('/readyz');
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(answer.headers['retry-after']).toBe('5');
    expect(answer.json()).toMatchObject({ code: 'http/not-ready', ready: false, conditions: [told] });
  });
});

describe('liveness', () => {
  test('holds while the process answers, whatever the archive does', async () => {
    const { inject, view } = archive(BLOCKING);
    view.now = () => {
      throw new Error('The catalog is gone.');
    };
    const answer = await inject('/healthz');
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({ alive: true, uptimeSeconds: 0 });
  });
});
