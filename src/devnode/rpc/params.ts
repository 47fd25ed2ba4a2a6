import type { ParamSpec, WireMethod, WireType } from '../../node/method-table.ts';
import { helpText } from './help-text.ts';
import { RpcError } from './rpc-error.ts';
import { isWireArray, isWireObject, WireNumber, type WireObject, type WireValue, wireTypeOf } from './wire-value.ts';

/** Parameters that the node accepts as a number or a boolean. */
const NUMBER_OR_BOOL = new Set(['verbose', 'verbosity']);
const HASH_HEX_LENGTH = 64;

/** Arguments of one call, checked against the method table as the node does. */
export class Params {
  readonly #spec: readonly ParamSpec[];
  readonly #values: readonly WireValue[];

  private constructor(spec: readonly ParamSpec[], values: readonly WireValue[]) {
    this.#spec = spec;
    this.#values = values;
  }

  /** Checks in the node's order: names, then their number (which answers the help text), then all types together. */
  static check(wire: WireMethod, sent: readonly WireValue[] | WireObject): Params {
    const values = isWireArray(sent) ? sent : positional(wire, sent);
    const required = wire.params.filter((param) => param.optional !== true).length;
    if (values.length < required || values.length > wire.params.length) throw new RpcError('misc', helpText(wire));
    const complaints = wire.params.flatMap((param, index) => {
      const complaint = mismatch(param, values[index] ?? null, index < values.length);
      return complaint === null ? [] : [`    "Position ${index + 1} (${param.name})": "${complaint}"`];
    });
    if (complaints.length > 0) throw new RpcError('type', `Wrong type passed:\n{\n${complaints.join(',\n')}\n}`);
    return new Params(wire.params, values);
  }

  get(name: string): WireValue {
    const index = this.#spec.findIndex((param) => param.name === name);
    return this.#values[index] ?? null;
  }

  /** Reports whether the client sent null; an omitted trailing argument is not null. */
  isNull(name: string): boolean {
    const index = this.#spec.findIndex((param) => param.name === name);
    return this.#values[index] === null;
  }

  string(name: string): string {
    const value = this.get(name);
    return typeof value === 'string' ? value : '';
  }

  optionalString(name: string): string | null {
    const value = this.get(name);
    return typeof value === 'string' ? value : null;
  }

  bool(name: string, whenAbsent: boolean): boolean {
    const value = this.get(name);
    return typeof value === 'boolean' ? value : whenAbsent;
  }

  optionalNumber(name: string): number | null {
    const value = this.get(name);
    return value instanceof WireNumber ? value.value : null;
  }

  /** A 32-bit integer, parsed as the node does. */
  integer(name: string, whenAbsent: number): number {
    const value = this.get(name);
    if (!(value instanceof WireNumber)) return whenAbsent;
    if (!/^-?\d+$/.test(value.source)) throw new RpcError('misc', 'JSON integer out of range');
    if (value.value < -(2 ** 31) || value.value >= 2 ** 31) throw new RpcError('misc', 'JSON integer out of range');
    return value.value;
  }

  /** A level, which may also come as a boolean. */
  level(name: string, whenAbsent: number): number {
    const value = this.get(name);
    return typeof value === 'boolean' ? Number(value) : this.integer(name, whenAbsent);
  }

  object(name: string): WireObject {
    const value = this.get(name);
    return isWireObject(value) ? value : {};
  }

  array(name: string): readonly WireValue[] {
    const value = this.get(name);
    return isWireArray(value) ? value : [];
  }

  /** 64 hex characters in lower case. `label` names the parameter in the node's error. */
  hash(name: string, label: string): string {
    return parseHash(this.string(name), label);
  }
}

/** @throws RpcError -8 with the node's message */
export function parseHash(text: string, label: string): string {
  if (text.length !== HASH_HEX_LENGTH) {
    throw new RpcError(
      'invalidParameter',
      `${label} must be of length ${HASH_HEX_LENGTH} (not ${text.length}, for '${text}')`,
    );
  }
  if (!/^[0-9a-fA-F]+$/.test(text)) {
    throw new RpcError('invalidParameter', `${label} must be hexadecimal string (not '${text}')`);
  }
  return text.toLowerCase();
}

function positional(wire: WireMethod, named: WireObject): WireValue[] {
  const unknown = Object.keys(named).find((name) => !wire.params.some((param) => param.name === name));
  if (unknown !== undefined) throw new RpcError('invalidParameter', `Unknown named parameter ${unknown}`);
  const last = wire.params.findLastIndex((param) => param.name in named);
  return wire.params.slice(0, last + 1).map((param) => named[param.name] ?? null);
}

function mismatch(param: ParamSpec, value: WireValue, sent: boolean): string | null {
  const actual = wireTypeOf(value);
  if (param.optional === true && (actual === 'null' || !sent)) return null;
  if (fits(param.type, actual) || (NUMBER_OR_BOOL.has(param.name) && (actual === 'bool' || actual === 'number'))) {
    return null;
  }
  return `JSON value of type ${actual} is not of expected type ${param.type === 'amount' ? 'number' : param.type}`;
}

function fits(expected: WireType, actual: ReturnType<typeof wireTypeOf>): boolean {
  return expected === 'amount' ? actual === 'number' || actual === 'string' : expected === actual;
}
