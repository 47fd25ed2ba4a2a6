/** A number as it was written: 64-bit guids and amounts with 8 decimals survive. */
export class WireNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }

  get value(): number {
    return Number(this.source);
  }
}

/** What a client sent. */
export type WireValue = null | boolean | string | WireNumber | readonly WireValue[] | WireObject;
export interface WireObject {
  readonly [name: string]: WireValue;
}

/** @throws SyntaxError when it is not JSON. */
export function parseWire(text: string): WireValue {
  // The third argument of a reviver has the number's own text; TypeScript's library does not know it yet.
  return JSON.parse(text, (...[, value, context]: unknown[]) =>
    typeof value === 'number' ? new WireNumber(sourceOf(context) ?? String(value)) : value,
  );
}

function sourceOf(context: unknown): string | null {
  if (typeof context !== 'object' || context === null || !('source' in context)) return null;
  return typeof context.source === 'string' ? context.source : null;
}

/** The type as the node's own errors name it. */
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
