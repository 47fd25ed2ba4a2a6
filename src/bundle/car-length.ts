import { varint } from 'multiformats';

export const MAX_VARINT_BYTES = 9;
const ROOTS_WITHIN_BYTES = 8;

/** The length that stands before a header or a block; null: none does. */
export function lengthOf(head: Uint8Array): { readonly value: number; readonly size: number } | null {
  try {
    const [value, size] = varint.decode(head.subarray(0, MAX_VARINT_BYTES));
    return Number.isSafeInteger(value) && value >= 0 && size <= head.length ? { value, size } : null;
  } catch {
    return null;
  }
}

/** Reports whether a file begins as a CARv1 does: a length, then a map with the roots. */
export function looksLikeCar(head: Uint8Array): boolean {
  const length = lengthOf(head);
  if (length === null) return false;
  const begin = head.subarray(length.size, length.size + ROOTS_WITHIN_BYTES);
  return new TextDecoder('latin1').decode(begin).includes('eroots');
}
