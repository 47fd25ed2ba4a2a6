/** A number as it was written: an id comes back digit by digit. */
export class WireNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** Parses a text whose size is known to be bounded (`jsonSize`). @throws SyntaxError when it is not JSON. */
export function parseWire(text: string): unknown {
  // The third argument of a reviver has the number's own text; TypeScript's library does not know it yet.
  return JSON.parse(text, (...[, value, context]: unknown[]) =>
    typeof value === 'number' ? new WireNumber(sourceOf(context) ?? String(value)) : value,
  );
}

function sourceOf(context: unknown): string | null {
  if (typeof context !== 'object' || context === null || !('source' in context)) return null;
  return typeof context.source === 'string' ? context.source : null;
}

export type WireType = 'null' | 'bool' | 'string' | 'number' | 'array' | 'object';

/** The type as the node's own errors name it. */
export function wireTypeOf(value: unknown): WireType {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  if (value instanceof WireNumber) return 'number';
  return Array.isArray(value) ? 'array' : 'object';
}

export function isWireObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return wireTypeOf(value) === 'object';
}

/** The id of a call as it stands in the answer. No client sends anything but these. */
export function idText(id: unknown): string {
  if (id instanceof WireNumber) return id.source;
  return typeof id === 'string' || typeof id === 'boolean' ? JSON.stringify(id) : 'null';
}

/** The number as it was sent, digit by digit. */
export function wireText(value: unknown): string {
  if (value instanceof WireNumber) return value.source;
  if (Array.isArray(value)) return `[${value.map(wireText).join(',')}]`;
  if (!isWireObject(value)) return JSON.stringify(value ?? null);
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${wireText(member)}`);
  return `{${members.join(',')}}`;
}
