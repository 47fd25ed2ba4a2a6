import { Console } from 'node:console';
import { encodeHex } from '../../core/blob/hex.ts';
import { type CliContext, print } from '../cli-context.ts';

/** Tables show this much of the bytes of a blob; `--json` shows all. */
const SHOWN_BYTES = 16;

// The ES declarations do not have it yet (Node has since release 22).
// biome-ignore lint/suspicious/noShadowRestrictedNames: it is the global JSON, declared with what it really has.
declare const JSON: {
  stringify(value: unknown, replacer: (key: string, value: unknown) => unknown, space: number): string;
  rawJSON(text: string): object;
};

/** JSON without a lost digit: guids as numbers of any length, bytes as hex. */
export function printResultJson(context: CliContext, result: unknown): void {
  const replacer = (_key: string, value: unknown) => {
    if (typeof value === 'bigint') return JSON.rawJSON(value.toString());
    return value instanceof Uint8Array ? encodeHex(value) : value;
  };
  // A Buffer would turn itself into a list of numbers before the replacer sees it.
  print(context, JSON.stringify(plain(result), replacer, 2));
}

/** A list as a table, a record as a table of its fields, anything else as it is. */
export function printResult(context: CliContext, result: unknown): void {
  if (typeof result !== 'object' || result === null || result instanceof Uint8Array) {
    print(context, cell(result, Number.POSITIVE_INFINITY));
    return;
  }
  const table = new Console({ stdout: context.stdout });
  if (!Array.isArray(result)) {
    table.table(
      Object.fromEntries(Object.entries(result).map(([key, value]) => [key, { value: cell(value, SHOWN_BYTES) }])),
    );
  } else if (result.length === 0) {
    print(context, '(none)');
  } else {
    table.table(result.map(row));
  }
}

function row(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return cell(value, SHOWN_BYTES);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cell(inner, SHOWN_BYTES)]));
}

function cell(value: unknown, bytesShown: number): string {
  if (value === null || value === undefined) return '–';
  if (value instanceof Uint8Array) {
    if (value.length <= bytesShown) return encodeHex(value);
    return `${encodeHex(value.subarray(0, bytesShown))}… (${value.length} bytes)`;
  }
  if (typeof value === 'object')
    return JSON.stringify(plain(value), (_key, inner) => (typeof inner === 'bigint' ? inner.toString() : inner), 0);
  return String(value);
}

function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return encodeHex(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}
