import fc from 'fast-check';

/** One change of some bytes, at a share of their length: so it falls anywhere in what earlier changes left. */
export type Edit = readonly [kind: 'flip' | 'cut' | 'insert' | 'repeat' | 'end', at: number, bytes: Uint8Array];

/** Few changes of something valid: the way to deep places of a decoder. */
export const edits: fc.Arbitrary<readonly Edit[]> = fc.array(
  fc.tuple(
    fc.constantFrom('flip', 'flip', 'cut', 'insert', 'repeat', 'end'),
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.uint8Array({ minLength: 1, maxLength: 24 }),
  ),
  { minLength: 1, maxLength: 6 },
);

export function edited(bytes: Uint8Array, changes: readonly Edit[]): Uint8Array {
  return changes.reduce(applied, bytes);
}

function applied(bytes: Uint8Array, [kind, share, given]: Edit): Uint8Array {
  const at = Math.floor(share * bytes.length);
  const [before, behind] = [bytes.subarray(0, at), bytes.subarray(at)];
  switch (kind) {
    case 'flip': {
      const changed = bytes.slice();
      for (const [index, byte] of given.entries()) {
        if (at + index < changed.length) changed[at + index] = (changed[at + index] ?? 0) ^ byte;
      }
      return changed;
    }
    case 'cut':
      return joined(before, behind.subarray(given.length));
    case 'insert':
      return joined(before, given, behind);
    case 'repeat':
      return joined(before, behind.subarray(0, (given[0] ?? 0) * 8), behind);
    case 'end':
      return before;
    default:
      return kind satisfies never;
  }
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts));
}

/**
 * Parameters of a fuzz test: the same runs each time, then others. A failure prints the seed of either.
 * `HOLDFAST_FUZZ_RUNS` sets the number of runs for a search of hours.
 */
export function seeds(runs: number): fc.Parameters<unknown>[] {
  const numRuns = Number(process.env['HOLDFAST_FUZZ_RUNS'] ?? runs);
  return [{ numRuns, seed: 20_261_122 }, { numRuns }];
}
