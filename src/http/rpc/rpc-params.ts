import { RpcError } from './rpc-error.ts';
import { WireNumber, type WireType, wireTypeOf } from './wire-json.ts';

export interface RpcParam {
  readonly name: string;
  readonly type: Extract<WireType, 'string' | 'number' | 'bool' | 'object'>;
  readonly optional?: true;
}

/** Arguments of one call, checked as the node does it: names, then their number, then every type at once (recorded). */
export class RpcParams {
  readonly #spec: readonly RpcParam[];
  readonly #values: readonly unknown[];

  constructor(method: string, spec: readonly RpcParam[], sent: unknown) {
    this.#spec = spec;
    this.#values = Array.isArray(sent) ? sent : positional(spec, sent);
    const required = spec.filter(({ optional }) => optional !== true).length;
    if (this.#values.length < required || this.#values.length > spec.length) {
      throw new RpcError('misc', usage(method, spec));
    }
    const complaints = spec.flatMap((param, index) => {
      const complaint = mismatch(param, this.#values[index]);
      return complaint === null ? [] : [`    "Position ${index + 1} (${param.name})": "${complaint}"`];
    });
    if (complaints.length > 0) throw new RpcError('type', `Wrong type passed:\n{\n${complaints.join(',\n')}\n}`);
  }

  isGiven(name: string): boolean {
    return wireTypeOf(this.#get(name)) !== 'null';
  }

  flag(name: string): boolean {
    return this.#get(name) === true;
  }

  /** A whole number of 32 bits, as the node reads it. */
  integer(name: string): number {
    const value = this.#get(name);
    if (!(value instanceof WireNumber)) return 0;
    const number = /^-?\d+$/.test(value.source) ? Number(value.source) : Number.NaN;
    if (number >= -(2 ** 31) && number < 2 ** 31) return number;
    throw new RpcError('misc', 'JSON integer out of range');
  }

  /** Reports whether an object sets an option of this name. */
  option(name: string, option: string): boolean {
    const value = this.#get(name);
    return wireTypeOf(value) === 'object' && new Map(Object.entries(value ?? {})).get(option) === true;
  }

  /** 64 hex characters, in lower case; `label` is what the node's errors call it. */
  hash(name: string, label: string): string {
    const value = this.#get(name);
    const text = typeof value === 'string' ? value : '';
    if (text.length !== 64) {
      throw new RpcError(
        'invalidParameter',
        `${label} must be of length 64 (not ${text.length}, for '${shown(text)}')`,
      );
    }
    if (!/^[0-9a-fA-F]+$/.test(text)) {
      throw new RpcError('invalidParameter', `${label} must be hexadecimal string (not '${text}')`);
    }
    return text.toLowerCase();
  }

  #get(name: string): unknown {
    return this.#values[this.#spec.findIndex((param) => param.name === name)];
  }
}

/** A node repeats all of it; here no client is to be answered with what another one sent. */
const MAX_SHOWN = 200;

function shown(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

function positional(spec: readonly RpcParam[], sent: unknown): unknown[] {
  const named = new Map(Object.entries(sent ?? {}));
  const unknown = [...named.keys()].find((name) => !spec.some((param) => param.name === name));
  if (unknown !== undefined) throw new RpcError('invalidParameter', `Unknown named parameter ${shown(unknown)}`);
  const last = spec.findLastIndex(({ name }) => named.has(name));
  return spec.slice(0, last + 1).map(({ name }) => named.get(name) ?? null);
}

function mismatch({ type, optional }: RpcParam, value: unknown): string | null {
  const actual = wireTypeOf(value);
  if (actual === type || (optional === true && actual === 'null')) return null;
  return `JSON value of type ${actual} is not of expected type ${type}`;
}

/** A node's answer, with its help text, when the number of arguments is wrong. */
function usage(method: string, spec: readonly RpcParam[]): string {
  const show = ({ name, type }: RpcParam) => (type === 'string' ? `"${name}"` : name);
  const needed = spec.filter(({ optional }) => optional !== true).map(show);
  const free = spec.filter(({ optional }) => optional === true).map(show);
  return [method, ...needed, ...(free.length === 0 ? [] : ['(', ...free, ')'])].join(' ');
}
