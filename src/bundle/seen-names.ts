import { createHash, randomBytes } from 'node:crypto';

const FIRST_SLOTS = 4_096;
const EMPTY = 0n;

/**
 * Names of a bundle that were seen, in sixteen bytes each: a bundle may have many millions. A name is kept as eight
 * bytes of a hash with a random salt. The author of a bundle therefore cannot choose two names that look the same.
 */
export class SeenNames {
  readonly #salt = randomBytes(16);
  #slots = new BigUint64Array(FIRST_SLOTS);
  #count = 0;

  has(name: string): boolean {
    const print = this.#printOf(name);
    return this.#slots[slotOf(this.#slots, print)] === print;
  }

  add(name: string): void {
    const print = this.#printOf(name);
    const slot = slotOf(this.#slots, print);
    if (this.#slots[slot] === print) return;
    this.#slots[slot] = print;
    this.#count += 1;
    if (this.#count * 2 > this.#slots.length) this.#grow();
  }

  #grow(): void {
    const slots = new BigUint64Array(this.#slots.length * 2);
    for (const print of this.#slots) if (print !== EMPTY) slots[slotOf(slots, print)] = print;
    this.#slots = slots;
  }

  #printOf(name: string): bigint {
    const print = createHash('sha256').update(this.#salt).update(name).digest().readBigUInt64BE();
    return print === EMPTY ? 1n : print;
  }
}

/** Slot of a name, or the free slot for it. */
function slotOf(slots: BigUint64Array, print: bigint): number {
  let slot = Number(print & BigInt(slots.length - 1));
  while (slots[slot] !== EMPTY && slots[slot] !== print) slot = (slot + 1) % slots.length;
  return slot;
}
