import { createHash } from 'node:crypto';

/** Returns `length` bytes that depend on the label alone: SHAKE256(label), as in the recorded chain. */
export function seededBytes(label: string, length: number): Buffer {
  return createHash('shake256', { outputLength: length }).update(label).digest();
}

/** Returns an integer from 0 to `below` - 1 that depends on the label alone. */
export function seededInteger(label: string, below: number): number {
  return seededBytes(label, 6).readUIntBE(0, 6) % below;
}
