/** An answer of the wrong shape. The page shows nothing of it. */
export class UnexpectedAnswer extends Error {}

/**
 * Invisible characters and characters that change the text direction. A hostile name could use them to look like
 * another name.
 */
const UNSEEN = /[\p{Cc}\p{Bidi_C}\u2028\u2029]/gu;

/** Decodes an object field by field. Each method throws `UnexpectedAnswer`. */
export class Fields {
  readonly #fields: ReadonlyMap<string, unknown>;
  readonly #where: string;

  private constructor(fields: ReadonlyMap<string, unknown>, where: string) {
    this.#fields = fields;
    this.#where = where;
  }

  static of(value: unknown, where: string): Fields {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unexpected(where, 'an object');
    return new Fields(new Map<string, unknown>(Object.entries(value)), where);
  }

  has(name: string): boolean {
    return this.#fields.has(name);
  }

  /** Text without invisible characters. */
  text(name: string): string {
    const value = this.#fields.get(name);
    if (typeof value === 'string') return value.replace(UNSEEN, '\uFFFD');
    throw this.#unexpected(name, 'text');
  }

  textOrNull(name: string): string | null {
    return this.#isNull(name) ? null : this.text(name);
  }

  number(name: string): number {
    const value = this.#fields.get(name);
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    throw this.#unexpected(name, 'a number');
  }

  numberOrNull(name: string): number | null {
    return this.#isNull(name) ? null : this.number(name);
  }

  flag(name: string): boolean {
    const value = this.#fields.get(name);
    if (typeof value === 'boolean') return value;
    throw this.#unexpected(name, 'true or false');
  }

  /** A word of a fixed list. A later version of the archive may send an unknown word; the result is then `unknown`. */
  word<Word extends string>(name: string, words: readonly Word[]): Word | 'unknown' {
    const text = this.text(name);
    return words.find((word) => word === text) ?? 'unknown';
  }

  list<T>(name: string, decode: (value: unknown) => T): T[] {
    const value = this.#fields.get(name);
    if (Array.isArray(value)) return value.map(decode);
    throw this.#unexpected(name, 'a list');
  }

  inner(name: string): Fields {
    return Fields.of(this.#fields.get(name), `${this.#where}.${name}`);
  }

  innerOrNull(name: string): Fields | null {
    return this.#isNull(name) ? null : this.inner(name);
  }

  /** Every number among the values, for counters with unknown names. */
  numbers(): number[] {
    return [...this.#fields.values()].filter((value) => typeof value === 'number');
  }

  #isNull(name: string): boolean {
    return (this.#fields.get(name) ?? null) === null;
  }

  #unexpected(name: string, expected: string): UnexpectedAnswer {
    return unexpected(`${this.#where}.${name}`, expected);
  }
}

function unexpected(where: string, expected: string): UnexpectedAnswer {
  return new UnexpectedAnswer(`The archive's answer is not as expected: ${where} should be ${expected}.`);
}
