import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { BRANCHES, withCountedBranches } from './counted-branches.ts';

const CODE = `
function kind(value, others = []) {
  if (value < 0) return 'below'; else if (value === 0) return 'none';
  switch (value) {
    case 1: const one = 'one'; return one;
    case 2: others = [...others, 9];
    default:
  }
  for (const other of others) if (other === value) return (() => ({ other }))().other;
  try { return value.missing ? null : value.missing ?? value.of.it; } catch { return 'fault'; }
}
kind(asked, [7]);
`;

/** Runs the code once with the value; gives the result and the numbers of the branches that ran. */
function ran(asked: number) {
  const context: Record<string, unknown> = { asked };
  const result: unknown = runInNewContext(withCountedBranches(CODE, 'src/a.ts'), context);
  const branches = (context[BRANCHES] as Map<string, Uint8Array>).get('src/a.ts') ?? [];
  return { result, branches: [...branches].join('') };
}

test.each([-1, 0, 1, 2, 7])('code with counted branches gives the same result for %i', (asked) => {
  expect(ran(asked).result).toEqual(runInNewContext(CODE, { asked }));
});

test('each way through the code notes other branches', () => {
  const ways = [-1, 0, 1, 2, 3, 7].map((asked) => ran(asked).branches);
  expect(new Set(ways).size).toBe(ways.length);
  expect(ran(-1).branches).toMatch(/^110+$/);
});

test('a branch is noted in the line that it has', () => {
  expect(withCountedBranches(CODE, 'src/a.ts').split('\n').length).toBe(CODE.split('\n').length);
});
