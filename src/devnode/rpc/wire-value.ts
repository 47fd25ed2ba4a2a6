/** A number with its source text, which keeps 64-bit guids and amounts of 8 decimals exact. */
export class WireNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }

  get value(): number {
    return Number(this.source);
  }
}

/** A JSON value that a client sent. */
export type WireValue = null | boolean | string | WireNumber | readonly WireValue[] | WireObject;
export interface WireObject {
  readonly [name: string]: WireValue;
}

/**
 * Parses JSON and keeps the text of numbers.
 * @throws SyntaxError for malformed JSON
 */
export function parseWire(text: string): WireValue {
  // The third argument of a reviver has the number's source text; TypeScript's library does not declare it yet.
  return JSON.parse(text, (...[, value, context]: unknown[]) =>
    typeof value === 'number' ? new WireNumber(sourceOf(context) ?? String(value)) : value,
  );
}

function sourceOf(context: unknown): string | null {
  if (typeof context !== 'object' || context === null || !('source' in context)) return null;
  return typeof context.source === 'string' ? context.source : null;
}

/** The type by its name in the node's errors. */
export function wireTypeOf(value: WireValue): 'null' | 'bool' | 'string' | 'number' | 'array' | 'object' {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  if (value instanceof WireNumber) return 'number';
  return isWireArray(value) ? 'array' : 'object';
}

export function isWireArray(value: WireValue): value is readonly WireValue[] {
  return Array.isArray(value);
}

export function isWireObject(value: WireValue): value is WireObject {
  return wireTypeOf(value) === 'object';
}
