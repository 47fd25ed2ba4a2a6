import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MAX_DURABILITY_DELAY_MS, MonotonicWallClock } from '../../src/catalog/monotonic-wall-clock.ts';

function scene() {
  const at = { wallMs: 1_790_000_000_000, steadyMs: 5_000 };
  const clock = new MonotonicWallClock({ wallMs: () => at.wallMs, steadyMs: () => at.steadyMs });
  const pass = (milliseconds: number) => {
    at.wallMs += milliseconds;
    at.steadyMs += milliseconds;
  };
  return { at, clock, pass };
}

const span = fc.integer({ min: 0, max: 2 * MAX_DURABILITY_DELAY_MS });
const step = fc.oneof(
  fc.record({ do: fc.constant('pass' as const), ms: span }),
  fc.record({ do: fc.constant('step' as const), ms: fc.integer({ min: -86_400_000, max: 86_400_000 }) }),
  fc.record({ do: fc.constant('record' as const), ms: fc.constant(0) }),
);

test('no steps of the wall clock make a copy seem durable before its time', () => {
  let settled = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { at, clock, pass } = scene();
      const recorded: { readonly wallMs: number; readonly steadyMs: number }[] = [];
      for (const one of steps) {
        if (one.do === 'pass') pass(one.ms);
        else if (one.do === 'step') at.wallMs += one.ms;
        else recorded.push({ wallMs: clock.nowMs(), steadyMs: at.steadyMs });
        const seems = recorded.filter(({ wallMs }) => wallMs <= clock.surelyMs() - MAX_DURABILITY_DELAY_MS);
        settled += seems.length;
        expect(seems.filter(({ steadyMs }) => at.steadyMs - steadyMs < MAX_DURABILITY_DELAY_MS)).toEqual([]);
      }
    }),
    {
      numRuns: 300,
      examples: [
        [
          [
            { do: 'record', ms: 0 },
            { do: 'pass', ms: MAX_DURABILITY_DELAY_MS },
          ],
        ],
      ],
    },
  );
  expect(settled).toBeGreaterThan(0);
});

test('a clock that does not step is believed; one that stepped is again, two such times later', () => {
  const { at, clock, pass } = scene();
  pass(MAX_DURABILITY_DELAY_MS - 1);
  expect(clock.surelyMs()).toBe(at.wallMs);
  at.wallMs += 86_400_000;
  expect(clock.surelyMs()).toBe(at.wallMs - 86_400_000);
  pass(MAX_DURABILITY_DELAY_MS);
  clock.nowMs();
  pass(MAX_DURABILITY_DELAY_MS);
  expect(clock.surelyMs()).toBe(at.wallMs);
});
