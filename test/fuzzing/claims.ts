import { HoldfastError } from '../../src/core/blob/errors.ts';

/** Resolves to null where the work failed with an error of Holdfast, which says what to do. Throws every other error. */
export async function outcomeOf<T>(work: () => Promise<T> | T): Promise<{ readonly value: T } | null> {
  try {
    return { value: await work() };
  } catch (error) {
    if (error instanceof HoldfastError && /^[a-z]+\/[a-z0-9-]+$/.test(error.code) && error.message !== '') return null;
    throw error;
  }
}

/** Throws where a claim about the product does not hold. */
export function claim(holds: boolean, says: string): asserts holds {
  if (!holds) throw new Error(`Broken claim: ${says}`);
}
