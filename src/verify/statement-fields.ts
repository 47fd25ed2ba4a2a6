import { parseBoundedJson } from '../core/blob/bounded-json.ts';
import { messageOf } from '../core/blob/errors.ts';
import { VerifyError } from './errors.ts';

const MAX_HEIGHT = 2 ** 32 - 1;

/** The reason why a value is not the expected signed statement: a clause. */
class NotAStatement extends Error {}

/** @throws VerifyError `verify/attestation`, `verify/receipt` */
export function decodeStatement<T>(what: 'attestation' | 'receipt', json: string, decode: (value: unknown) => T): T {
  let value: unknown;
  try {
    value = parseBoundedJson(json);
  } catch (cause) {
    throw new VerifyError(`verify/${what}`, `The ${what} is no JSON: ${messageOf(cause)}`, { cause });
  }
  try {
    return decode(value);
  } catch (cause) {
    if (!(cause instanceof NotAStatement)) throw cause;
    throw new VerifyError(`verify/${what}`, `This is no ${what}: ${cause.message}.`, { cause });
  }
}

export type Fields = ReadonlyMap<string, unknown>;

export function fieldsOf(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refused('a part of it is no object');
  return new Map(Object.entries(value));
}

export function exactly(fields: Fields, names: readonly string[]): Fields {
  const strange = [...fields.keys()].find((name) => !names.includes(name));
  if (strange !== undefined) throw refused(`it has a field ${JSON.stringify(strange.slice(0, 40))}, which none has`);
  return fields;
}

export function word<const W extends string>(fields: Fields, name: string, known: W): W {
  if (fields.get(name) === known) return known;
  throw refused(`${name} is not ${known}`);
}

export function formatOf(fields: Fields): 1 {
  if (fields.get('format') === 1) return 1;
  throw refused('its format is not 1');
}

export function hex(fields: Fields, name: string, bytes: number): string {
  const value = fields.get(name);
  if (typeof value === 'string' && value.length === 2 * bytes && /^[0-9a-f]*$/.test(value)) return value;
  throw refused(`${name} is not ${2 * bytes} characters of lower-case hex`);
}

export function countOf(fields: Fields, name: string): number {
  const value = fields.get(name);
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw refused(`${name} is no whole number`);
}

export function heightIn(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_HEIGHT) return value;
  throw refused(`its range is not one of heights up to ${MAX_HEIGHT}`);
}

export function time(fields: Fields): string {
  const value = fields.get('at');
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)) return value;
  throw refused('at is no time like 2026-11-01T02:11:00.000Z');
}

export function refused(why: string): Error {
  return new NotAStatement(why);
}
